"""The machine that evaluates and fits many programs at once."""
