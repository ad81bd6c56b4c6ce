"""A calibrated formula as text: errors before and after, meaning of each factor, doubts about the runs."""

from collections.abc import Sequence
from pathlib import Path

from trainlaw.app.models.calibration import CalibratedLaw
from trainlaw.app.models.scopes import handling
from trainlaw.app.models.term_descriptions import resource_of
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.app.text.tables import Table, finite_json, fitted_lines
from trainlaw.formulas import Formula
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.formula_intervals import interval_of
from trainlaw.validate.time_factors import HOST_TIMES

_LEAST_CHANGE = 0.02  # of a factor beyond the common one, to be listed


def calibration_text(law: CalibratedLaw, given: Formula, origin: str) -> str:
    """Return the whole account of a calibration; given : the formula before, origin : where it is from."""
    number = "1 run" if law.n_runs == 1 else f"{law.n_runs} runs"
    gpus, precisions = ", ".join(law.gpus), ", ".join(law.precisions)
    lines = [f"{number} on {gpus} in {precisions}; calibrated: {origin}", *_errors(law)]
    before, after = interval_of(given), interval_of(law.formula)
    if before is not None and after is not None:
        ends = f"factor {show_number(before)} before, {show_number(after)} after"
        lines.append(f"  {100 * LEVEL:g} % interval         {ends}")
    lines += _factors(law, given)
    lines += [f"warning: {text}" for text in law.warnings]
    return fitted_lines("\n".join(lines))


def calibration_json(
    law: CalibratedLaw, given: Formula, origin: str, folder: Path, warnings: Sequence[str]
) -> str:
    """Return the account as JSON: errors in percent, factors on times; arguments as of `calibration_text`.

    folder : what was written. warnings : further ones.
    """
    return finite_json(
        {
            "calibrated": origin,
            "folder": str(folder),
            "warnings": [*law.warnings, *warnings],
            **{name: getattr(law, name) for name in ("n_runs", "n_cnns", "gpus", "precisions")},
            **{name: getattr(law, name) for name in ("before_percent", "left_out_percent")},
            "interval_level": LEVEL,
            "interval_factor_before": interval_of(given),
            "interval_factor_after": interval_of(law.formula),
            "factor": law.factors.common,
            "factors_of_times": dict(law.factors.by_time),
            "factors_of_stacks": dict(law.factors.by_stack),
        }
    )


def _errors(law: CalibratedLaw) -> list[str]:
    before = f"  mean error before     {show_percent(law.before_percent)} %"
    if law.n_runs == 1:
        return [before, "  mean error after      not known: it takes a second run to predict"]
    error = show_percent(law.left_out_percent)
    what = f"each of {law.n_cnns} architectures" if law.n_cnns else "each run"
    after = f"  mean error after      {error} %, {what} predicted by the others"
    worse = law.left_out_percent > law.before_percent
    advice = "  runs left out are predicted no better than before; measure a few more" if worse else ""
    return [before, after, *filter(None, [advice])]


def _factors(law: CalibratedLaw, given: Formula) -> list[str]:
    common = law.factors.common
    lines = ["", f"overall factor {show_number(common)} ({_percent(common)})"]
    specs, features = {spec.name: spec for spec in given.used_features}, handling(given).features
    limits = {name: resource_of([spec], features) for name, spec in specs.items()}
    limits |= dict.fromkeys(HOST_TIMES, "the host")
    rows = [
        [name, show_number(factor), limits[name], specs[name].meaning]
        for name, factor in sorted(law.factors.by_time.items(), key=lambda item: -item[1])
        if abs(factor / (1.0 if name in HOST_TIMES else common) - 1) > _LEAST_CHANGE
    ]
    for name, factor in law.factors.by_stack.items():
        lines.append(f"factor of runs with {name} {show_number(factor)} ({_percent(factor)})")
    if not rows:
        return lines
    header = ["time", "factor", "limited by", "meaning"]
    return [*lines, "factors of single times that differ from it:", Table.of(header, rows).text(), ""]


def _percent(factor: float) -> str:
    change = 100 * (factor - 1)
    return f"{abs(change):.0f} % {'slower' if change >= 0 else 'faster'}"
