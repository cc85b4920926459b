"""Transports: how asct reaches a host. `opening.make_host` finds one by its name, `base` holds the protocol."""
