import pytest
from trainlaw.formulas import UnknownNameError
from trainlaw.formulas.scopes import SCOPES, check_scope_name


def test_scopes_have_names_and_near_names():
    assert [name for name, scope in SCOPES.items() if scope.part] == ["layer"]
    assert all(name == scope.name and scope.title for name, scope in SCOPES.items())
    assert check_scope_name("run") is None
    with pytest.raises(UnknownNameError, match="did you mean 'multi_gpu'"):
        check_scope_name("multi_gpus")
