"""Where kernels/, templates/, results_schema/ and plans/ are: inside the wheel, or beside the package in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def folder(name: str) -> Path:
    """The folder `name`; raises FileNotFoundError naming both places that were looked at."""
    package = Path(__file__).resolve().parent
    places = (package / "_data" / name, package.parent / name)
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(f"{name}: neither {places[0]} nor {places[1]} exists; the installation is incomplete")
