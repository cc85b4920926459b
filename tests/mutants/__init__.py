"""Mutations that the fast tests must detect: `make mutants`."""
