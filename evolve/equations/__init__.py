"""General equations without units: what short formulas the structure of the data suggests."""
