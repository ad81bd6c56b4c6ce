from trainlaw.formulas import SECOND, FeatureSpec, Formula, Unit, parse_text, term_names

UNITS = {"macs": "MAC", "peak": "FLOP/s", "size": "B", "rate": "B/s", "ring": "B/s", "layers": "1"}
MEANINGS = {
    "ring": "rate of the link between nodes",
    "launch": "kernel launch time",
    "copy": "input copy time",
}
SPECS = tuple(
    FeatureSpec(name, name, Unit.parse(UNITS.get(name, "s")), MEANINGS.get(name, ""))
    for name in (*UNITS, "launch", "copy")
)
TIME = FeatureSpec("time_s", "t", SECOND, "time of one iteration")


def names(text, target=TIME):
    return term_names(Formula(parse_text(text), SPECS, target))


def test_terms_are_named_by_units_and_meanings():
    text = "6 * macs / peak + 2 * size / rate + 3 * size / ring + 4 * layers + 5 * launch + 6"
    first = ("compute time", "memory time", "communication time")
    assert names(text) == (*first, "time by layers", "kernel launch time", "fixed time")


def test_mixed_and_equal_names():
    text = "max(macs / peak, size / rate) - 2 * macs / peak + 3 * macs"
    assert names(text) == ("compute and memory time", "compute time 1", "compute time 2")
    assert names("launch * copy") == ("time by copy and launch",)


def test_other_targets():
    assert names("6 * macs", FeatureSpec("energy", "E", Unit(), "")) == ("compute energy",)
