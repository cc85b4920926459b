"""The shells in which scripts for hosts must run. The fast tier uses the first one."""

import pytest

SHELLS = ("dash", *(pytest.param(shell, marks=pytest.mark.shells) for shell in ("bash", "busybox sh")))
