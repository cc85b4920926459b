"""Comparisons of runs as text, CSV, JSON, Markdown and HTML, based on the tables of the report formats."""
