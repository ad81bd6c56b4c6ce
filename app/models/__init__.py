"""Formulas by scope: their rows, terms and errors."""
