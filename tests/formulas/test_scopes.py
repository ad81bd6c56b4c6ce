import pytest
from trainlaw.formulas import InputError, UnknownNameError
from trainlaw.formulas.scopes import SCOPES, check_scope_name, inferred_scope


@pytest.mark.parametrize(
    ("features", "summed_over", "provenance", "scope"),
    [
        (["compute_s"], "", {}, "run"),
        ([], "", {}, "run"),
        (["compute_s"], "layer", {}, "layer"),
        # The sum decides before any name.
        (["anchor_time_s", "n_gpus"], "layer", {"cases": 3}, "layer"),
        (["profiled_s"], "", {}, "gpu_pair"),
        (["compute_s", "anchor_peak_flop_per_s"], "", {}, "gpu_pair"),
        (["profiled_s", "anchor_time_s"], "", {"cases": 3}, "gpu_pair"),
        (["compute_s", "n_gpus"], "", {"cases": 3}, "custom"),
        (["single_gpu_time_s", "network_transfer_s"], "", {}, "multi_gpu"),
        (["compute_s", "ring_s"], "", {}, "multi_gpu_run"),
        (["launch_s", "compute_s"], "", {}, "measured_layer"),
        (["launch_s", "n_nodes"], "", {}, "multi_gpu_run"),
    ],
)
def test_the_scope_of_an_older_file_follows_from_its_features(features, summed_over, provenance, scope):
    assert inferred_scope(features, summed_over, provenance) == scope


def test_only_layers_are_summed_over():
    with pytest.raises(InputError, match="expected a sum over every layer, got 'summed_over' 'stage'"):
        inferred_scope(["compute_s"], "stage", {})


def test_scopes_have_names_and_near_names():
    assert [name for name, scope in SCOPES.items() if scope.part] == ["layer"]
    assert all(name == scope.name and scope.title for name, scope in SCOPES.items())
    assert check_scope_name("run") is None
    with pytest.raises(UnknownNameError, match="did you mean 'multi_gpu'"):
        check_scope_name("multi_gpus")
