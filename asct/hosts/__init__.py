"""Transports: how asct reaches a host. `factory.make_host` finds a transport by name; `base` defines the protocol."""
