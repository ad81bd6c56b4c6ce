"""The registered data sets: one module per source, and the catalog that loads them."""
