"""Numbers, tables and figures as text: CSV, JSON, HTML, SVG."""
