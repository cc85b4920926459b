"""Transports: how asct reaches a host. `factory.make_host` finds one by its name; `base` defines the protocol."""
