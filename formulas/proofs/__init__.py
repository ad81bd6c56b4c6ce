"""Bounds of an expression over a box, and proofs of its sign and of how it moves there."""
