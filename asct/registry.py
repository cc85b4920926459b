"""Benchmarks by name. Each package below asct/benchmarks/ exposes `BENCHMARK`; a broken one fails loudly."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from typing import Any

import asct.benchmarks
from asct.sdk.benchmark import Benchmark


class Registry:
    """The catalog of installed benchmarks; imports a package only when it is asked for."""

    def __init__(self, folder: Sequence[str] | None = None, package: str = "asct.benchmarks") -> None:
        path = list(folder) if folder is not None else list(asct.benchmarks.__path__)
        self._package = package
        self._modules = {
            info.name.replace("_", "-"): f"{package}.{info.name}"
            for info in pkgutil.iter_modules(path)
            if info.ispkg and not info.name.startswith("_")
        }
        self._loaded: dict[str, Benchmark[Any]] = {}

    def names(self) -> list[str]:
        """All main names, sorted."""
        return sorted(self._modules)

    def all(self) -> list[Benchmark[Any]]:
        """Every benchmark, sorted by name."""
        return [self._load(name) for name in self.names()]

    def get(self, name: str) -> Benchmark[Any] | None:
        """By main name or alias; None when unknown."""
        if name in self._modules:
            return self._load(name)
        return next((bench for bench in self.all() if name in bench.aliases), None)

    def _load(self, name: str) -> Benchmark[Any]:
        if name not in self._loaded:
            found = importlib.import_module(self._modules[name]).BENCHMARK
            if not isinstance(found, Benchmark) or found.name != name:
                raise TypeError(f"{self._modules[name]}.BENCHMARK is not a benchmark named {name}")
            self._loaded[name] = found
        return self._loaded[name]


@cache
def installed() -> Registry:
    """The registry of this installation."""
    return Registry()
