"""Measured runs, layers and pairs: schemas, import, coverage and outliers."""
