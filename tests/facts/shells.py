"""The shells that scripts for hosts must run in: the fast tier uses the first."""

import pytest

SHELLS = ("dash", *(pytest.param(shell, marks=pytest.mark.shells) for shell in ("bash", "busybox sh")))
