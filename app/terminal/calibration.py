"""A calibrated formula as text: errors before and after, meaning of each factor, doubts about the runs."""

from collections.abc import Mapping

from trainlaw.app.models.calibration import CalibratedLaw
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.app.text.tables import Table, fitted_lines
from trainlaw.formulas import Formula
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.formula_intervals import interval_of
from trainlaw.validate.time_factors import HOST_TIMES

#: Endings of times -> what is slow or fast where their factor is not 1.
_RESOURCES: Mapping[str, str] = {
    "_matrix_s": "products at the peak rate",
    "_compute_s": "products at the peak rate",
    "_simt_s": "work outside tensor cores",
    "_cached_s": "memory and cache",
    "_memory_s": "memory and cache",
    "_kernel_s": "kernels",
    "_launch_s": "kernels",
    "_overhead_s": "kernels",
}
_LEAST_CHANGE = 0.02  # of a factor beyond the common one, to be listed


def calibration_text(law: CalibratedLaw, given: Formula, origin: str) -> str:
    """Return the whole account of a calibration; given : the formula before, origin : where it is from."""
    number = "1 run" if law.n_runs == 1 else f"{law.n_runs} runs"
    gpus, precisions = ", ".join(law.gpus), ", ".join(law.precisions)
    lines = [f"{number} on {gpus} in {precisions}; calibrated: {origin}", *_errors(law)]
    lines += [*_interval(law, given), *_factors(law, given)]
    lines += [f"warning: {text}" for text in law.warnings]
    return fitted_lines("\n".join(lines))


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


def _interval(law: CalibratedLaw, given: Formula) -> list[str]:
    before, after = interval_of(given), interval_of(law.formula)
    if before is None or after is None:
        return []
    level = f"{100 * LEVEL:g} %"
    return [f"  {level} interval         factor {show_number(before)} before, {show_number(after)} after"]


def _factors(law: CalibratedLaw, given: Formula) -> list[str]:
    common = law.factors.common
    lines = ["", f"overall factor {show_number(common)} ({_percent(common)})"]
    meanings = {spec.name: spec.meaning for spec in given.used_features}
    rows = [
        [name, show_number(factor), _resource(name), meanings[name]]
        for name, factor in sorted(law.factors.by_time.items(), key=lambda item: -item[1])
        if abs(factor / (1.0 if name in HOST_TIMES else common) - 1) > _LEAST_CHANGE
    ]
    for name, factor in law.factors.by_stack.items():
        lines.append(f"factor of runs with {name} {show_number(factor)} ({_percent(factor)})")
    if not rows:
        return lines
    header = ["time", "factor", "limited by", "meaning"]
    return [*lines, "factors of single times that differ from it:", Table.of(header, rows).text(), ""]


def _resource(name: str) -> str:
    if name in HOST_TIMES:
        return "the host"
    return next((word for ending, word in _RESOURCES.items() if name.endswith(ending)), "")


def _percent(factor: float) -> str:
    change = 100 * (factor - 1)
    return f"{abs(change):.0f} % {'slower' if change >= 0 else 'faster'}"
