"""The Python facade: study, predict, load a formula, export it."""
