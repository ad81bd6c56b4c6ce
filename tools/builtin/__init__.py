"""The built-in formulas: how each is made, `python -m tools.builtin`."""
