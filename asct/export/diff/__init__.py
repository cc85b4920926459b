"""Comparisons of runs as text, CSV, JSON, Markdown and HTML. They use the tables of the report formats."""
