"""Figures for fleets, all on loopback: many hosts at once, many points on one host, short commands, and previews of
large plans."""
