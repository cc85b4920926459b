"""Parse and format values with units. Every parser raises BadValueError (a ValueError) for an invalid value."""
