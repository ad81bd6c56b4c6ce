"""Features of a formula: one row of text each, with its unit and meaning."""
