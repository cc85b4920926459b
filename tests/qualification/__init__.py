"""Tests of the qualification of drives."""
