"""Read-only checks of hosts, one module per subject; `examine` in examine.py runs them."""
