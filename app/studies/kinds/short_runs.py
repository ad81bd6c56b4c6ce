"""Formulas of whole iterations with few constants: what may be in them is free, what must be is little."""

from dataclasses import replace

from trainlaw.app.studies.kinds.whole_runs import FREE_RUNS, OF_RUNS
from trainlaw.app.studies.search import skeleton_of, with_settings
from trainlaw.app.studies.short_skeleton import SHORT_CONSTANTS, SHORT_EVALUATIONS, SHORT_NAMES, ShortSearch

OF_SHORT_RUNS = replace(
    OF_RUNS,
    name="short-runs",
    title="whole runs on one GPU, with few constants",
    features=tuple(dict.fromkeys((*SHORT_NAMES, *OF_RUNS.features))),
    search=with_settings(ShortSearch),
    no_search=skeleton_of(ShortSearch),
    defaults={
        **OF_RUNS.defaults,
        "evaluations": SHORT_EVALUATIONS,
        "seeds": 1,
        "max_constants": SHORT_CONSTANTS,
    },
    otherwise=FREE_RUNS,
)
