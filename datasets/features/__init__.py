"""Features: one row of text each, with unit, meaning and definition."""
