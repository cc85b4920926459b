"""Parses and formats values with units. Every parser raises BadValueError, a ValueError."""
