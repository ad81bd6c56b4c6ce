"""The report of a study: one HTML file with figures and tables."""
