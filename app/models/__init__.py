"""What a formula models, and how it gets its rows, its terms and its error."""
