"""The workbook: a spreadsheet that predicts by live cells."""
