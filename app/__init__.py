"""The application: commands, studies, predictions, workbook, page, report.

The only folder that names both a table and a search.
"""
