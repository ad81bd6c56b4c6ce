"""`trainlaw suggest`: the next measurements."""

from pathlib import Path

from trainlaw.app.commands.options import check_new_files
from trainlaw.app.inputs.declared import option
from trainlaw.app.suggest.options import SuggestOptions


def suggest_command(
    *,
    asked: SuggestOptions,
    out: Path | None = option("CSV to write for `trainlaw profile --plan`; never replaces a file."),
) -> None:
    """Choose what to measure next to reduce the uncertainty of the formula's predictions.

    The command evolves a set of configurations that represents the pool, reduces the variance of the
    predicted times and is cheap to measure. The table states the reason for each configuration, and
    `trainlaw profile` reads the plan.
    """
    from trainlaw.app.suggest.jobs import run_suggest
    from trainlaw.app.terminal.progress import shown_steps
    from trainlaw.formulas.files.text_files import write_text_atomically

    check_new_files([out])
    with shown_steps() as on_step:
        text, csv = run_suggest(asked, on_step)
    print(text)
    if out is not None:
        write_text_atomically(out, csv)
        print(f"\n{out} written; next: trainlaw profile --plan {out}")
