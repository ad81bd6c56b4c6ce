"""Formulas in other languages, one file each."""
