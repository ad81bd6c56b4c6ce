import json
import math

import pytest
from trainlaw.app.studies.search import SearchedRows, searched_on_all_rows
from trainlaw.app.studies.terms_found import TermShares, chosen_again, kinds_of
from trainlaw.app.terminal.formula import chosen_again_text
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.formulas import Formula, InputError, parse_text
from trainlaw.validate.chosen_again import CHOSEN_AGAIN, resamples_of_groups, shares_chosen_again

NAMES = ("conv_output_memory_s", "im2col_compute_s", "layer_launch_s", "clock_ratio")
NOTHING = TermShares({}, {})
COPY, PRODUCT, LAUNCH = ({name} for name in NAMES[:3])


def law(text, **errors):
    ranges = dict.fromkeys(NAMES, (0.001, 1.0))
    return Formula(parse_text(text), feature_specs(NAMES), TARGET, ranges=ranges, errors=errors)


def test_shares_add_up_over_the_formulas_that_have_a_term():
    shares = TermShares.of(
        [
            (law("2 * conv_output_memory_s + 3 * im2col_compute_s"), 0.75),
            (law("(5 * conv_output_memory_s + layer_launch_s) * clock_ratio^-0.5"), 0.25),
        ]
    )
    assert shares.terms == {
        frozenset(COPY): 0.75,
        frozenset(PRODUCT): 0.75,
        frozenset(COPY | {"clock_ratio"}): 0.25,
        frozenset(LAUNCH | {"clock_ratio"}): 0.25,
    }
    # Of the amounts, whatever the factors.
    assert shares.amounts == {frozenset(COPY): 1.0, frozenset(PRODUCT): 0.75, frozenset(LAUNCH): 0.25}
    assert TermShares.from_json(json.loads(json.dumps(shares.to_json()))) == shares


def test_an_amount_with_two_factors_counts_once_per_formula():
    found = TermShares.of([(law("conv_output_memory_s * clock_ratio + conv_output_memory_s"), 1.0)])
    assert found.amounts == {frozenset(COPY): 1.0}
    assert len(found.terms) == 2


def test_a_term_is_its_features_not_its_constants():
    assert kinds_of(law("2 * im2col_compute_s + max(layer_launch_s, 3 * im2col_compute_s)")) == {
        frozenset(PRODUCT),
        frozenset(LAUNCH),
    }


def test_the_mean_over_seeds_in_the_order_of_the_terms():
    formula = law("3 * im2col_compute_s + conv_output_memory_s * clock_ratio + im2col_compute_s")
    product, copy = frozenset(PRODUCT), frozenset(COPY)
    seeds = [
        TermShares({product: 1.0, copy: 0.5}, {product: 1.0, copy: 0.5}),
        TermShares({product: 0.8, copy | {"clock_ratio"}: 0.3}, {product: 0.8, copy: 1.0}),
        NOTHING,
    ]
    assert chosen_again(formula, seeds) == [
        {"features": ["im2col_compute_s"], "share": 0.9, "amount_share": 0.9},
        {"features": ["clock_ratio", "conv_output_memory_s"], "share": 0.15, "amount_share": 0.75},
    ]
    assert chosen_again(formula, [NOTHING]) == []


def stored(*triples, seeds=1):
    terms = [
        {"features": sorted(features), "share": share, "amount_share": amount}
        for features, share, amount in triples
    ]
    return {CHOSEN_AGAIN: {"resamples": 200, "seeds": seeds, "terms": terms}}


def test_the_formula_carries_them_through_its_file():
    formula = law(
        "im2col_compute_s + layer_launch_s", **stored((PRODUCT, 1.0, 1.0), (LAUNCH, 0.805, 0.97), seeds=2)
    )
    read = Formula.from_json(formula.to_json())
    assert shares_chosen_again(read) == {
        ("im2col_compute_s",): (1.0, 1.0),
        ("layer_launch_s",): (0.805, 0.97),
    }
    assert resamples_of_groups(read) == "200 resamples of the GPU groups, of 2 random seeds"
    older = law("im2col_compute_s")
    assert (shares_chosen_again(older), resamples_of_groups(older), chosen_again_text(older)) == ({}, "", [])


@pytest.mark.parametrize("key", ["share", "amount_share"])
@pytest.mark.parametrize("share", [-0.1, 1.1, "most", math.nan, None])
def test_a_file_with_another_share_is_refused(share, key):
    content = law("im2col_compute_s", **stored((PRODUCT, 1.0, 1.0))).to_json()
    content["errors"][CHOSEN_AGAIN]["terms"][0][key] = share
    with pytest.raises(InputError, match="share"):
        Formula.from_json(content)


def test_terms_that_are_not_always_chosen_are_shown():
    formula = law(
        "im2col_compute_s + 2 * layer_launch_s", **stored((PRODUCT, 1.0, 1.0), (LAUNCH, 0.805, 0.97))
    )
    text = "\n".join(chosen_again_text(formula))
    assert "200 resamples of the GPU groups" in text
    assert "80.5" in text and "97.0" in text and "2 * layer_launch_s" in text
    assert "im2col_compute_s" not in text
    always = law("im2col_compute_s", **stored((PRODUCT, 1.0, 1.0)))
    assert chosen_again_text(always)[0].endswith("all, in every resample")


def test_results_in_an_older_journal_have_no_terms():
    formula = law("im2col_compute_s")
    found = searched_on_all_rows({"formula": formula.to_json(), "front": []})
    assert isinstance(found, SearchedRows)
    assert found.terms == NOTHING
