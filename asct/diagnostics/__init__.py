"""Errors and warnings: as data, with their codes and explanations, and as text."""
