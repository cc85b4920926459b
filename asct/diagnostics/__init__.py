"""Errors and warnings as data and as text, and the explanations of their codes."""
