"""What `trainlaw study` prints when it is done."""

from pathlib import Path

from trainlaw.app.outcome import StudyOutcome
from trainlaw.app.run_folder import RUN_FILES
from trainlaw.app.show_formula import equation_text, errors_text, symbols_text
from trainlaw.app.study import seconds_text


def study_text(outcome: StudyOutcome, folder: Path, seconds: float) -> str:
    """Return formula, units and held-out errors beside the rivals', and where everything was written."""
    parts = [equation_text(outcome.formula), "", symbols_text(outcome.formula), ""]
    if outcome.formula.errors:
        parts.append(errors_text(outcome.formula))
    parts += [f"not compared: {name} ({remedy})" for name, remedy in outcome.absent.items()]
    parts += [f"interrupted: {sentence}" for sentence in outcome.missing]
    parts += ["", f"{folder}: {', '.join(RUN_FILES)} ({seconds_text(seconds)})", f"next: {_next_step()}"]
    return "\n".join(parts)


def _next_step() -> str:
    return 'trainlaw predict --cnn resnet50 --gpu "A100-SXM4-40GB" --batch 64'
