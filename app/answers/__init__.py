"""The lines of a prediction: one table, which every output prints."""
