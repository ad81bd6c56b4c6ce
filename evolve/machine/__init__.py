"""The machine: fits and evaluates many programs at once, compiled by numba."""
