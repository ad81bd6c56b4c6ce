"""The front of formulas by number of constants: weighted amounts times powers of pure numbers, evolved."""
