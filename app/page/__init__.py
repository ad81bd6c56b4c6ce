"""The page: one static HTML file that predicts in the browser."""
