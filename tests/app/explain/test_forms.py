"""A formula in a reader's words: names of terms, equivalent forms, rounding, elasticities, proofs."""

from dataclasses import replace

import numpy as np
import pytest
from trainlaw.app.explain.forms import equivalent_forms, rounded_formula
from trainlaw.app.explain.sensitivity import elasticities, in_raw_columns, proved_raw_trends, proved_trends
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.term_descriptions import described_terms
from trainlaw.app.models.terms import parts_of
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.terminal.formula import formula_text
from trainlaw.datasets import FEATURES, TARGET, configuration, feature_specs, load
from trainlaw.formulas import (
    SECOND,
    FeatureSpec,
    Formula,
    constants,
    evaluate,
    load_formula,
    parse_text,
    to_text,
    variables,
)
from trainlaw.formulas.algebra.expression import with_constants


def law(text, **changes):
    names = [name for name in variables(parse_text(text)) if name in FEATURES]
    columns = load("fp32-2026").features(names)
    ranges = {name: (float(columns[name].min()), float(columns[name].max())) for name in names}
    return replace(Formula(parse_text(text), feature_specs(names), TARGET, ranges=ranges), **changes)


@pytest.fixture(scope="module")
def built_in():
    return load_formula(BUILT_IN)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("6 * conv3x3_compute_s", "compute time (conv3x3)"),
        ("2 * batchnorm_memory_s * clock_ratio", "memory time (batchnorm)"),
        ("2 * max(conv_compute_s, conv_output_memory_s)", "compute and memory time (conv, conv output)"),
        ("0.5 * ring_s", "all-reduce time (ring)"),
        ("3 * layer_launch_s", "launch time (layer launch)"),
        ("0.001", "fixed time"),
        ("6 * batch_per_gpu * macs / peak_flop_per_s", "compute time"),
    ],
)
def test_terms_are_named_by_what_they_are_spent_on(text, name):
    assert [words.name for words in described_terms(law(text))] == [name]


def test_names_are_unique_and_sentences_explain(built_in):
    words = described_terms(built_in)
    assert len({word.name for word in words}) == len(words) == len(parts_of(built_in))
    twice = described_terms(law("conv_compute_s + conv_compute_s * clock_ratio"))
    assert [word.name for word in twice] == ["compute time (conv) 1", "compute time (conv) 2"]
    assert twice[1].sentence.endswith("; scaled by clock_ratio.")
    assert described_terms(law("7 * kernel_launch_s"))[0].sentence.startswith("7 times kernel_launch_s (")
    assert described_terms(law("0.002"))[0].sentence == "2 ms in every iteration."


def test_features_of_a_user_have_words_too():
    mine = Formula(parse_text("3 * mine"), (FeatureSpec("mine", "m", SECOND, "my own"),), TARGET)
    assert described_terms(mine)[0].sentence == "3 times mine (my own)."


def test_forms_agree_and_the_shortest_is_first(built_in):
    forms = equivalent_forms(built_in)
    assert len(forms) >= 2
    assert [form.complexity for form in forms] == sorted(form.complexity for form in forms)
    run = load("fp32-2026")
    for form in forms:
        names = variables(form.expression)
        values, valid = evaluate(form.expression, dict(zip(names, run.matrix(names).T, strict=True)))
        truth = [prediction.time_s for prediction in predict_runs(built_in, run)]
        assert valid.all()
        np.testing.assert_allclose(values, truth, rtol=1e-9)


def test_products_are_written_shorter_where_that_is_possible():
    forms = equivalent_forms(law("conv_compute_s * clock_ratio + conv_output_memory_s * clock_ratio"))
    assert forms[0].complexity < max(form.complexity for form in forms)


def test_rounding_costs_less_than_it_may(built_in):
    table = load("default")
    generator = np.random.default_rng(0)
    exact = constants(built_in.expression)
    noisy = [value * (1 + 1e-5 * generator.normal()) for value in exact]
    long = replace(built_in, expression=with_constants(built_in.expression, noisy))
    rounding = rounded_formula(long)
    assert rounding.rows == len(table)
    assert rounding.rounded_percent <= rounding.exact_percent + 0.1
    columns = table.features([spec.name for spec in built_in.used_features])
    errors = np.abs(rounding.formula.predict(columns) / table.seconds - 1)
    assert rounding.rounded_percent == pytest.approx(100 * errors.mean(), rel=1e-12)
    assert len(to_text(rounding.formula.expression)) < len(to_text(long.expression)) - 50
    elsewhere = rounded_formula(replace(long, provenance={"table": "mine.csv"}))
    assert elsewhere.formula.expression == long.expression and "not available" in elsewhere.sentence


def test_elasticities_are_what_predictions_say(built_in):
    run = one_run("resnet50", "V100-SXM2-16GB", 100)
    rows = {row.name: row for row in elasticities(built_in, run)}
    now = predict_runs(built_in, run)[0].time_s
    for change, name in (("1.1x bandwidth", "bandwidth_byte_per_s"), ("1.1x peak", "peak_flop_per_s")):
        then = predict_runs(built_in, one_run("resnet50", f"V100-SXM2-16GB with {change}", 100))[0].time_s
        assert rows[name].time == pytest.approx(then / now - 1, rel=1e-9)
        assert rows[name].time < 0 < rows[name].throughput
    then = predict_runs(built_in, one_run("resnet50", "V100-SXM2-16GB", 110))[0]
    assert rows["batch_per_gpu"].time == pytest.approx(then.time_s / now - 1, rel=1e-9)
    assert rows["batch_per_gpu"].throughput == pytest.approx(
        then.samples_per_second / (100 / now) - 1, rel=1e-9
    )
    effects = [abs(row.time) for row in elasticities(built_in, run)]
    assert effects == sorted(effects, reverse=True)


def test_raw_columns_are_no_features_of_features(built_in):
    assert all(FEATURES[name].is_base for name in variables(in_raw_columns(built_in)))


def test_what_is_proved_holds(built_in):
    positive, trends = proved_trends(built_in)
    assert positive and len(trends) > 5
    roofs = parse_text("2 * other_matrix_s + 9 * conv_own_cached_s + 0.001")
    physical = replace(built_in, expression=roofs)
    raw = proved_raw_trends(physical).items()
    assert raw >= {
        ("batch_per_gpu", "never falls"),
        ("peak_flop_per_s", "never rises"),
        ("bandwidth_byte_per_s", "never rises"),
    }
    assert proved_raw_trends(replace(physical, provenance={})) == {}
    falling = law("conv_compute_s / (clock_ratio + 0.1) + 0.001")
    assert proved_trends(falling)[1]["clock_ratio"] == "never rises"
    negative, _ = proved_trends(law("conv_compute_s - 0.001"))
    assert not negative
    assert proved_trends(replace(built_in, ranges={})) == (False, {})


def test_show_says_all_of_it(built_in):
    run = configuration(cnn="vgg16", gpu="T4", batch_per_gpu=32)
    text = formula_text(built_in, "origin", run)
    for part in (
        "fewest digits that cost less than 0.1 points of error",
        "as evolved, complexity",
        "in base columns of GPU, CNN and run",
        "what each term means:",
        "memory time (conv own)",
        "effect of 10 % more of one quantity",
        "bandwidth_byte_per_s",
        "the time is never negative",
    ):
        assert part in text
    assert "nan" not in text.split()
