"""Shares of resamples of the GPU groups in which each term of a formula was chosen again."""

from trainlaw.formulas import Formula

#: Key of these shares in the `errors` of a formula.
CHOSEN_AGAIN = "chosen_again"


def shares_chosen_again(formula: Formula) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the share of resamples in which a term was chosen, by its sorted features.

    The second share counts all terms with the same amounts, whatever their factors.
    """
    known = formula.errors.get(CHOSEN_AGAIN, {}).get("terms", ())
    return {
        tuple(entry["features"]): (float(entry["share"]), float(entry["amount_share"])) for entry in known
    }


def resamples_of_groups(formula: Formula) -> str:
    """Return the number of resamples of the GPU groups as words, "" without resamples."""
    known = formula.errors.get(CHOSEN_AGAIN)
    if known is None:
        return ""
    seeds = f", of {known['seeds']} random seeds" if known["seeds"] > 1 else ""
    return f"{known['resamples']} resamples of the GPU groups{seeds}"
