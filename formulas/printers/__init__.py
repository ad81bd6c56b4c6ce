"""Formulas in other languages: programming languages, documents, spreadsheets."""
