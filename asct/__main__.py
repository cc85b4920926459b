"""The entry point of `python -m asct` and of the console script."""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from asct.values.memory import is_out_of_memory

_COLLECT_AFTER: Final = (1_000_000, 50, 100)
"""Garbage collection thresholds. asct creates many objects but few cycles. With the default thresholds, the garbage
collector repeatedly scans hundreds of thousands of records, so that reading the records of 200 CPUs took 50 % longer.
Scanning 100,000 objects takes 25 ms; short commands end before the first scan."""
PYDANTIC_KNOWN: Final = "2.14."
"""The versions of pydantic that use only `get_plugins()` from their plugin loader."""
_PLUGIN_LOADER: Final = "pydantic.plugin._loader"


def main() -> None:
    """Run the command and exit with its exit code."""
    try:
        _main()
    except KeyboardInterrupt:  # during the imports, before asct.cli.app could handle it
        os.write(2, b"\ninterrupted\n")
        os._exit(130)
    except Exception as problem:  # noqa: BLE001 - raised before asct.cli.app could handle it
        known = is_out_of_memory(problem)
        if not known:
            import traceback

            traceback.print_exc()
        os.write(2, b"error[E916]: asct ran out of memory\n" if known else b"error[E970]: a bug in asct\n")
        os._exit(3 if known else 70)


def _main() -> None:
    gc.set_threshold(*_COLLECT_AFTER)
    _skip_plugin_search()
    from asct.cli.app import on_terminate, run
    from asct.cli.streams import protect_streams

    protect_streams()
    signal.signal(signal.SIGTERM, on_terminate)
    code = run(sys.argv[1:])
    # the command is complete: a late signal must not change the exit code
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(code))
    gc.freeze()  # Without this, the interpreter searches every object for cycles before it exits.
    sys.exit(code)


def _skip_plugin_search() -> None:
    """Make known versions of pydantic skip the search for plugins in the installed packages, which takes 12 ms.

    For other versions, this has no effect: the loader is imported as usual when pydantic first needs it.
    """

    def find(attribute: str) -> Any:
        if attribute.startswith("__"):  # module attributes that the import system reads
            raise AttributeError(attribute)
        from pydantic.version import VERSION

        if attribute == "get_plugins" and VERSION.startswith(PYDANTIC_KNOWN):
            return tuple
        del sys.modules[_PLUGIN_LOADER]
        return getattr(import_module(_PLUGIN_LOADER), attribute)

    loader = ModuleType(_PLUGIN_LOADER)
    vars(loader)["__getattr__"] = find  # called for a name that the module does not define (PEP 562)
    sys.modules[_PLUGIN_LOADER] = loader


if __name__ == "__main__":
    main()
