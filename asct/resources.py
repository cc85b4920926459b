"""Locate kernels/, templates/, results_schema/ and plans/, either inside the wheel or next to the package in a
checkout, and read the data files beside a module."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any


@cache
def folder(name: str) -> Path:
    """Return the path of the folder `name`. If the folder does not exist, raises FileNotFoundError, which names both
    paths that were tried."""
    package = Path(__file__).resolve().parent
    candidates = (package / "_data" / name, package.parent / name)
    for path in candidates:
        if path.is_dir():
            return path
    raise FileNotFoundError(f"{name}: neither {candidates[0]} nor {candidates[1]} exists; asct is not fully installed")


@cache
def text(module: str, name: str) -> str:
    """Return the content of a text file in the folder of the module with this `__file__`."""
    return Path(module).with_name(name).read_text("utf-8")


@cache
def shell(module: str, name: str) -> str:
    """Return a shell file in the folder of the module with this `__file__`, without empty lines and comments, which a
    host would only read past. Lines that begin with `#:` are kept."""
    return re.sub(r"(?m)^( *#(?!:).*)?\n", "", text(module, name))


@cache
def data(module: str, name: str) -> Any:
    """Return the content of a YAML file in the folder of the module with this `__file__`. Callers share the returned
    object and must not change it."""
    import yaml  # imported here, because few commands need it

    return yaml.load(text(module, name), yaml.CSafeLoader)
