"""Closed-form expressions: operators, units, text, values, derivatives, simplification."""
