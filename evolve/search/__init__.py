"""The search: islands, selection, variation and validation of individuals."""
