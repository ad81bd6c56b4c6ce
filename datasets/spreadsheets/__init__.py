"""Runs in a user's spreadsheet: its table, columns, units, values and names, as trainlaw's columns."""
