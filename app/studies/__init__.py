"""Studies: fit a formula to measured runs and estimate its held-out error."""
