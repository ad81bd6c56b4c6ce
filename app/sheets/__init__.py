"""Spreadsheet files, written from one plan of cells."""
