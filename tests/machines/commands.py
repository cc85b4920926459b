"""Run programs that create the images of guests."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


class ImageError(RuntimeError):
    """Raised if a package, or an expected part of a package, is not available."""


def ran(command: Sequence[str], folder: Path | None = None) -> str:
    """Return the output of a command. Raises ImageError with the command's own message if it fails."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout
