"""Programs that make the shipped data. They run from a checkout and are not installed."""
