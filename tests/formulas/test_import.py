import trainlaw.formulas


def test_all_names_exist():
    assert all(hasattr(trainlaw.formulas, name) for name in trainlaw.formulas.__all__)
