"""What a prediction says: one table of lines, which every output prints."""
