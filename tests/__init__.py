"""Tests. No example of a property has a time limit: how long one takes says how busy the machine is."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
