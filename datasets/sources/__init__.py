"""The registered data sets, and the catalog that loads them by name."""
