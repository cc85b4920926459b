"""Programs that make the images of guests."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


class ImageError(RuntimeError):
    """A package, or what was expected in it, cannot be had."""


def ran(command: Sequence[str], folder: Path | None = None) -> str:
    """What a command printed. Raises ImageError with its own words when it fails."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout
