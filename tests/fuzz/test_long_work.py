"""Work that takes minutes says so before it starts; what else could take as long is limited."""

import pytest
from trainlaw.app.commands import predictions
from trainlaw.app.predictions import predict, streams

from ..commands import invoke, refusal

MANY = ",".join(map(str, range(1, 3001)))


class BegunError(Exception):
    """Raised in place of the work."""


@pytest.fixture
def begun(monkeypatch):
    """What a command has said when its work begins."""

    def begin(*_, **__):
        raise BegunError

    monkeypatch.setattr(streams, "plan_streams", begin)
    monkeypatch.setattr(predict, "predicted_blocks", begin)

    def run(*words):
        result = invoke(*words)
        assert isinstance(result.exception, BegunError)
        return result.stderr

    return run


@pytest.mark.parametrize(("number", "said"), [(128, True), (17, True), (16, False)])
def test_a_long_schedule_says_so_first(number, said, begun):
    text = begun("schedule", "--cnn", "nasnet_large", "--gpu", "T4", "--streams", number)
    assert ("may take minutes" in text) is said


@pytest.mark.parametrize("said", [True, False])
def test_many_configurations_say_so_first(said, begun, tmp_path, monkeypatch):
    monkeypatch.setattr(predictions, "_LONG_BYTES", 30 if said else 300)
    path = tmp_path / "plans.csv"
    path.write_text("cnn,gpu,batch_per_gpu\nresnet50,T4,64\n")
    assert ("may take minutes" in begun("predict", "--from", path, "--format", "csv")) is said


@pytest.mark.parametrize(
    ("line", "word", "said"),
    [
        ("predict --cnn lenet5 --all-gpus --json --batch", MANY, "at most 50,000"),
        ("plan --cnn lenet5 --gpus 1 --batch", MANY, "more than 100,000 plans"),
        ("scaling --cnn lenet5 --gpu T4 --batch 8 --max-gpus", "65537", "65"),
    ],
    ids=["predict", "plan", "scaling"],
)
def test_what_would_take_minutes_is_refused(line, word, said):
    assert said in refusal(line, word)
