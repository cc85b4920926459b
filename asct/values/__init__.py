"""Parse and format values with units. Every parser raises BadValueError, which is a ValueError."""
