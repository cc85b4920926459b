"""Values with units: text and number, both ways. Every parser raises BadValueError, a ValueError."""
