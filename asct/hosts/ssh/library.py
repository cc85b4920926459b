"""paramiko without Invoke, which paramiko needs only for `Match exec` in ssh_config files.

Invoke loads 90 modules, among them asyncio and unittest. Importing them takes as long as importing all else that an ssh
connection needs.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final, cast

_INVOKE: Final = "invoke"
_modules = cast(dict[str, Any], sys.modules)
_modules.setdefault(_INVOKE, None)  # an import then fails, and paramiko tolerates that
try:
    import paramiko as paramiko
    import paramiko.config
finally:
    if _modules[_INVOKE] is None:
        del _modules[_INVOKE]


def import_invoke() -> None:
    """Provide paramiko with Invoke, so that it can run the commands of `Match exec`."""
    vars(paramiko.config)[_INVOKE] = importlib.import_module(_INVOKE)
