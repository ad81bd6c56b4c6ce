"""The 24 published predictions, in minutes, at 480, 960, 1920 and 3840 threads."""

import pytest
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import UnknownNameError
from trainlaw.validate.baselines import many_core_seconds

THREADS = (480, 960, 1920, 3840)
PUBLISHED_MINUTES = {
    ("small", "a"): (6.6, 5.4, 4.9, 4.6),
    ("small", "b"): (6.7, 5.5, 4.9, 4.6),
    ("medium", "a"): (36.8, 23.9, 17.4, 14.2),
    ("medium", "b"): (39.1, 25.1, 18.0, 14.5),
    ("large", "a"): (92.9, 60.8, 44.8, 36.8),
    ("large", "b"): (82.6, 45.7, 27.2, 18.0),
}


@pytest.mark.parametrize(("cnn", "model"), PUBLISHED_MINUTES)
def test_published_predictions(cnn, model):
    minutes = [many_core_seconds(cnn, threads, model) / 60 for threads in THREADS]
    assert minutes == pytest.approx(PUBLISHED_MINUTES[cnn, model], abs=0.06)


def test_published_epochs():
    minutes = [many_core_seconds("small", 240, epochs=epochs) / 60 for epochs in (70, 140, 280, 560)]
    assert minutes == pytest.approx([8.9, 17.6, 35.0, 69.7], abs=0.06)


def test_faults():
    with pytest.raises(UnknownNameError, match="small"):
        many_core_seconds("smal", 240)
    with pytest.raises(UnknownNameError):
        many_core_seconds("small", 240, "c")
    with pytest.raises(InputError, match="at least one thread"):
        many_core_seconds("small", 0)
