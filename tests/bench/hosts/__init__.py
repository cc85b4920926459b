"""Figures of fleets: many hosts at once, many points on one, short commands, large dry plans; all on loopback."""
