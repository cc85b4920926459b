"""Tests of drive qualifications."""
