"""The registered data sets: what ships, and the catalog that loads it by name."""
