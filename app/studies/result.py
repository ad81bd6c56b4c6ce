"""The result of a study: its formula, those of few constants, and their held-out errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.models.calibration import DOUBT
from trainlaw.app.models.deployment import proved_properties
from trainlaw.app.models.doubts import remarks
from trainlaw.app.models.front import EVOLVED, FRONT, FrontRow, front_json, law_row
from trainlaw.app.models.term_descriptions import described_terms
from trainlaw.app.models.terms import mean_shares
from trainlaw.app.studies.fits import estimator_of
from trainlaw.app.studies.found import Found
from trainlaw.app.studies.front import THE_LAW, Deliverable, StudyFront, columns_of, controls_of
from trainlaw.app.studies.kinds.kind import BOTH_FOLDS, CNN_FOLDS, GPU_FOLDS
from trainlaw.app.studies.processes import Place
from trainlaw.app.studies.verdict import verdict_lines
from trainlaw.datasets import DATASETS
from trainlaw.formulas import Formula, ParetoFront, ScoredFormula, complexity, to_text
from trainlaw.formulas.files.text_files import file_sha256
from trainlaw.validate import EstimatorFactory, StudyResult
from trainlaw.validate.applicability import joint_range_json
from trainlaw.validate.error_json import errors_json
from trainlaw.validate.error_table import BY_GPU, errors_frame
from trainlaw.validate.journal import Journal
from trainlaw.validate.levels import LevelError
from trainlaw.validate.platforms import cross_platform
from trainlaw.validate.refit import RefittedFormula
from trainlaw.validate.result import OURS
from trainlaw.validate.support import SUPPORT, sources_json


class TermShare(NamedTuple):
    """A term of a formula: its name, its text, and its share of the predicted time, mean over all rows."""

    name: str
    text: str
    share: float


@dataclass(frozen=True)
class StudyOutcome:
    """A finished or interrupted study.

    formula : from the search on all rows; its `errors` are those of the folds
    front : Pareto front of that search
    result : held-out predictions and the formula of each finished fold
    errors : its table of errors (see `errors_frame`)
    held_out : GPU groups by name of the fold
    terms : of the formula, each with its mean share of the predicted time
    columns : the formula's features of all rows of the table, by name, each (n_runs,); for a formula of one
        layer their sums over the layers, pure numbers averaged
    levels : the error by what is known of the target GPU
    few : formulas of few constants, and the law; None where the kind of study has none
    matrices : errors by training and test platform, by label (see `cross_platform`)
    definition : of the study
    verdict : lines to be read first: nothing learned, a better baseline, calibration instead
    missing : sentences on what an interrupted study lacks
    absent : baselines that cannot run here, with the package to install; provenance : plain JSON values
    """

    formula: Formula
    front: ParetoFront
    result: StudyResult
    errors: pd.DataFrame
    held_out: Mapping[str, tuple[str, ...]]
    terms: tuple[TermShare, ...]
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    levels: tuple[LevelError, ...] = ()
    few: StudyFront | None = None
    matrices: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    definition: StudyDefinition = field(default_factory=StudyDefinition)
    verdict: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, object] = field(default_factory=dict)


_MOST_SHARES = 40  # of inclusion that a formula carries
# See docs/explanation/law.md.
_TUNED = "features and settings were chosen on these runs (docs/explanation/law.md)"


def outcome_of(found: Found, place: Place, journal: Journal | None = None) -> StudyOutcome:
    """Put together what a study leaves behind, whatever its formula is from.

    place, journal : of the fits from platform to platform.
    """
    material, facts, frame = found.material, _facts(found), errors_frame(found.result)
    stated = {"interrupted": list(found.missing)} if found.missing else {}
    errors = _errors(found.formula, found.result, found, frame=frame)
    delivered = replace(found.formula, provenance={**facts, **stated}, errors=errors)
    few = _front(found, delivered)
    if few is not None:
        delivered = replace(delivered, errors={**delivered.errors, FRONT: front_json(few.rows)})
    score = ScoredFormula(delivered, found.training_loss, complexity(delivered.expression))
    rows = material.rows.of(delivered)
    shares = zip(described_terms(delivered), mean_shares(delivered, rows.columns, rows.sums), strict=True)
    return StudyOutcome(
        formula=delivered,
        front=found.fits.on_all_rows[OURS].front if found.fits else ParetoFront((score,)),
        result=found.result,
        errors=frame,
        held_out={split.name: split.held_out for split in material.splits},
        terms=tuple(TermShare(term.name, to_text(term.part.expression, 3), share) for term, share in shares),
        columns=rows.run_features(delivered),
        levels=found.levels,
        few=few,
        matrices=_matrices(found, place, journal),
        definition=material.definition,
        verdict=verdict_lines(
            delivered,
            found.result,
            material.table,
            material.definition,
            is_evolved=found.fits is not None,
            best=found.best,
            few=few,
        ),
        missing=found.missing,
        absent=material.absent,
        provenance=facts,
    )


def _front(found: Found, delivered: Formula) -> StudyFront | None:
    """The formulas of few constants with their errors, and the law; None where there are none."""
    everything, material = found.fits.result if found.fits else None, found.material
    if everything is None or not found.few or not len(everything.predictions):
        return None
    rows = []
    for size, formula in found.few.items():
        candidate = Deliverable(EVOLVED, size)
        if candidate.column in everything.estimators:
            columns = columns_of(everything, candidate) | controls_of(everything, size)
            errors = _errors(formula, everything.chosen(columns), found, candidate)
            # A weight that its rule gives is written, but was not fitted.
            count = formula.provenance.get("constants", size)
            provenance = {**delivered.provenance, "constants": count, "most_constants": size}
            if material.kind.is_proved:
                provenance["open_properties"] = _open_properties(formula)
            rows.append(FrontRow(size, replace(formula, provenance=provenance, errors=errors)))
    law = delivered
    if found.law is not None:
        columns = {name: name for name in (OURS, *material.baselines)}
        errors = _errors(found.law, everything.chosen(columns), found, THE_LAW)
        law = replace(found.law, provenance=delivered.provenance, errors=errors)
    stored = front_json((*rows, law_row(law)))
    law = replace(law, errors={**law.errors, FRONT: stored})
    return StudyFront((*rows, law_row(law)), found.support, everything)


def _errors(
    formula: Formula,
    result: StudyResult,
    found: Found,
    candidate: Deliverable | None = None,
    *,
    frame: pd.DataFrame | None = None,
) -> dict[str, object]:
    """All that a formula carries about its errors and what supports it.

    result : predictions of the formula and of what it is compared with. candidate : which of a study's it is,
    None for the delivered one. frame : the table of errors where it is known.
    """
    material, rows = found.material, found.material.rows
    errors = errors_json(
        result,
        _protocol(found, candidate),
        material.definition.unit,
        found.levels if candidate is None else (),
        _generations(found, candidate or found.best),
        X=rows.X,
        frame=frame,
        # Those of the controls are known by the differences.
        with_intervals=result.searches if candidate is not None and candidate.size else None,
    )
    own_rows = rows.of(formula)
    if material.kind.has_joint_range:
        errors |= joint_range_json(own_rows.columns, rows.groups)
    if "source" in rows.labels and rows.cnn_layers is None:
        errors |= sources_json(formula, own_rows, rows.labels["source"])
    shares = found.support[:_MOST_SHARES]
    return errors | ({SUPPORT: [list(share) for share in shares]} if shares else {})


def _generations(found: Found, candidate: Deliverable) -> StudyResult | None:
    """The predictions of a candidate for whole generations held out; None where they are not known."""
    result = found.fits.generations if found.fits else None
    if result is None or result.missing_splits:
        return None
    columns = columns_of(result, candidate)
    return result.chosen(columns) if set(columns.values()) <= set(result.estimators) else None


def _matrices(found: Found, place: Place, journal: Journal | None) -> dict[str, pd.DataFrame]:
    """The errors from platform to platform, as `cross_platform` gives them, by the labels asked for.

    The formula's form was found on all platforms together; only a rerun search is blind to the others.
    """
    material = found.material
    definition, kind, rows = material.definition, material.kind, material.rows
    estimators: dict[str, EstimatorFactory] = {OURS: partial(RefittedFormula, found.formula)}
    estimators |= {name: kind.baselines[name] for name in kind.platform_baselines}
    if definition.search_by_platform:
        estimators[f"{OURS}, searched per platform"] = estimator_of(material, definition.seed)
    return {
        label: cross_platform(
            rows.X, rows.seconds, rows.labels, platforms, estimators, journal=journal, **place
        )
        for label, platforms in material.platforms.items()
    }


def _open_properties(formula: Formula) -> list[str]:
    """What could not be proved of a formula over the deployment box, as statements."""
    return [item.statement for item in proved_properties(formula) if not item.proved]


def _facts(found: Found) -> dict[str, object]:
    """What the result depends on, and nothing else: no time, no host, no number of workers."""
    material, definition, is_evolved = found.material, found.material.definition, found.fits is not None
    table, labels = material.table, material.rows.labels
    doubts = "; ".join(remarks(table))
    facts: dict[str, object] = {
        **({} if is_evolved else found.formula.provenance),
        "trainlaw_version": version("trainlaw"),
        "table": table.name,
        "table_sha256": table.sha256,
        "rows": len(table),
        "gpu_groups": int(labels[BY_GPU].nunique()),
        "seed": definition.seed,
        "split": definition.split,
        "folds": len(material.splits),
    }
    if is_evolved and (found.few or not material.kind.is_fitted):
        facts["evaluations_per_search"] = definition.evaluations
    if is_evolved and material.kind.is_proved:
        facts["open_properties"] = _open_properties(found.formula)
    facts |= {DOUBT: doubts} if doubts else {}
    facts |= {name: sorted(set(labels[label].astype(str))) for name, label in _LABELS if label in labels}
    if "algorithm" in labels:
        facts["algorithms"] = sorted(set(labels["algorithm"]) - {"none"})
    sums = {Path(path).name: file_sha256(path) for path in definition.files}
    return facts | ({"own_files_sha256": sums} if sums else {})


# Labels whose values a formula carries, by the names of these.
_LABELS = (("precisions", "precision"), ("generations", "generation"), ("vendors", "vendor"))
_HELD_OUT = {
    GPU_FOLDS: "folds over GPU groups, each group held out once",
    "gpu-5-fold": "folds over GPU groups, each group held out once",
    CNN_FOLDS: "folds over architectures, each held out once; the GPUs are known",
    BOTH_FOLDS: "pairs of a part of the GPU groups and a part of the architectures, both new",
    "gpu": "GPU groups, each held out once",
    "cnn": "architectures, each held out once; the GPUs are known",
    "cnn-family": "families of architectures, each held out once; the GPUs are known",
    "both": "pairs of GPU group and architecture, both new",
    "source": "sources, each held out once",
    "harness": "harnesses, each held out once",
    "generation": "generations of GPUs, each held out once",
    "threads": "numbers of threads of the CPUs, each held out once",
    "newest": "split, the newest GPUs held out and older ones in training",
    "list": "splits of the own list",
}


def _method_of(candidate: Deliverable, seeds: int) -> str:
    """Return how a formula of a study was obtained in each split; seeds : number of searches of evolution."""
    if not candidate.size:
        return "constants fitted to the others"
    several = f", {seeds} seeds" if candidate.method == EVOLVED and seeds > 1 else ""
    return f"a search for each{several}"


def _protocol(found: Found, candidate: Deliverable | None) -> str:
    """How the error was measured, as text; candidate : whose, None for the delivered formula."""
    material, splits, seeds = found.material, len(found.material.splits), found.material.definition.seeds
    finished = splits - len(found.result.missing_splits)
    some = "" if finished == splits else f"{finished} of "
    # Only what is evolved here was tuned here.
    tuned = _TUNED if material.table.name in DATASETS and found.fits else ""
    found_by = found.method or _method_of(candidate or found.best, seeds)
    if candidate is None and found.fits and not material.kind.is_fitted:
        found_by = _method_of(Deliverable(EVOLVED, material.definition.max_constants), seeds)
    elif candidate is None and found.best.size:
        found_by += ", the candidate with the least error"
    method = f"{some}{splits} {_HELD_OUT[material.definition.split]}, {found_by}"
    return "; ".join(filter(None, (method, material.kind.given, tuned)))
