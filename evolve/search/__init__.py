"""The search: islands, selection, variation, and the choice among the final candidates."""
