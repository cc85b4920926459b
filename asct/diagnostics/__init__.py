"""Errors and warnings: as data and as text, with explanations of their codes."""
