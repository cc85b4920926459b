"""`python -m asct` and the console script."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Final

_COLLECT_AFTER: Final = (100_000, 50, 100)
"""Records by the hundred thousand make no cycles, yet by default Python walks through them again and again: reading
those of two hundred CPUs took half as long again."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    from asct.cli.app import on_terminate, run

    gc.set_threshold(*_COLLECT_AFTER)
    signal.signal(signal.SIGTERM, on_terminate)
    code = run(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):  # all is done and told: what comes now changes nothing
        signal.signal(number, lambda *_: os._exit(code))
    sys.exit(code)


if __name__ == "__main__":
    main()
