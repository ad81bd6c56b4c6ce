"""The CNNs of the zoo, written with `CnnBuilder`: one file per group of families."""
