"""The installed benchmarks. Each package below asct/benchmarks/ defines `BENCHMARK`. A broken package raises an
exception.

Importing a benchmark is slow, so the information shown by `list`, `explain` and completion is also stored in
asct/benchmarks/index.json. `make index` (`python -m asct.registry`) writes that file, and a test fails if it is out of
date. If a benchmark is missing from the index, it is imported instead.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import asct.benchmarks
from asct.plan.keys import PlanKey, common_keys

if TYPE_CHECKING:
    from asct.sdk.benchmark import Benchmark

INDEX = Path(asct.benchmarks.__file__).parent / "index.json"


class SettingInfo(NamedTuple):
    """A setting, with its type and default as written in a plan."""

    name: str
    type: str
    default: str
    aliases: list[str]
    help: str
    pitfalls: str = ""
    resembles: Sequence[str] = ()

    def format_value(self, value: Any) -> str:
        """Format a value, given in base units, as a plan would contain it: sizes and durations with a unit, lists with
        commas."""
        return _format_value(self.type, value)


class MetricInfo(NamedTuple):
    """A metric; `at` lists the coordinates of its values."""

    name: str
    unit: str
    better: str
    at: list[str]
    help: str


class FlagInfo(NamedTuple):
    """A flag. `doubtful` is true if the flag marks values as doubtful."""

    name: str
    doubtful: bool
    help: str


class BenchmarkInfo(NamedTuple):
    """Information about a benchmark, available without importing it. `needs` lists the benchmarks whose results this
    benchmark uses."""

    name: str
    title: str
    summary: str
    aliases: list[str]
    keywords: list[str]
    default: bool
    hidden: bool
    needs: list[str]
    settings: list[SettingInfo]
    metrics: list[MetricInfo]
    flags: list[FlagInfo]

    def setting(self, name: str) -> SettingInfo | None:
        """Find a setting by name or alias; return None if the benchmark does not have it."""
        return next((item for item in self.settings if name == item.name or name in item.aliases), None)


class Registry:
    """The catalog of installed benchmarks. A benchmark is imported when it is first requested."""

    def __init__(self) -> None:
        self._folders = {
            info.name.replace("_", "-"): Path(getattr(info.module_finder, "path"), info.name)  # noqa: B009 - typeshed has no path
            for info in pkgutil.iter_modules(asct.benchmarks.__path__)
            if info.ispkg and not info.name.startswith("_")
        }
        self._loaded: dict[str, Benchmark[Any]] = {}

    def names(self) -> list[str]:
        """Return all main names, sorted."""
        return sorted(self._folders)

    def all(self) -> list[Benchmark[Any]]:
        """Return all benchmarks, sorted by name. Imports all of them; `infos` is faster."""
        return [self._load(name) for name in self.names()]

    def get(self, name: str) -> Benchmark[Any] | None:
        """Find a benchmark by main name or alias; return None if it is unknown."""
        if name in self._folders:
            return self._load(name)
        found = self.info(name)
        return None if found is None else self._load(found.name)

    @cached_property
    def infos(self) -> list[BenchmarkInfo]:
        """Information about all benchmarks, sorted by name."""
        indexed = _index()[1]
        return [indexed.get(name) or describe(self._load(name)) for name in self.names()]

    def info(self, name: str) -> BenchmarkInfo | None:
        """Return information about one benchmark by main name or alias, or None if it is unknown."""
        exact = next((item for item in self.infos if item.name == name), None)
        return exact or next((item for item in self.infos if name in item.aliases), None)

    def readme(self, name: str) -> str:
        """Return the README.md of the benchmark with this main name."""
        return (self._folders[name] / "README.md").read_text(encoding="utf-8")

    def _load(self, name: str) -> Benchmark[Any]:
        if name not in self._loaded:
            from asct.sdk.benchmark import Benchmark

            module = f"{asct.benchmarks.__name__}.{self._folders[name].name}"
            found = importlib.import_module(module).BENCHMARK
            if not isinstance(found, Benchmark) or found.name != name:
                raise TypeError(f"{module}.BENCHMARK is not a benchmark named {name}")
            self._loaded[name] = found
        return self._loaded[name]


@cache
def installed() -> Registry:
    """Return the registry of this installation."""
    return Registry()


def common_flags() -> list[FlagInfo]:
    """Return the flags that the values of any benchmark may have."""
    return _index()[0]


def known_plan_keys() -> list[PlanKey]:
    """Return the keys of the plan language, except those that a transport adds."""
    return [PlanKey(**item) for item in _index_document()["plan_keys"].values()]


_PARTS: Final = {"settings": SettingInfo, "metrics": MetricInfo, "flags": FlagInfo}
"""The parts that benchmarks share. index.json stores each of them once, and benchmarks refer to them by key."""


@cache
def _index_document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(INDEX.read_text(encoding="utf-8"))
    return document


@cache
def _index() -> tuple[list[FlagInfo], dict[str, BenchmarkInfo]]:
    """Return the content of index.json: the common flags, and a mapping from names to benchmarks."""
    document = _index_document()
    parts: dict[str, dict[str, Any]] = {
        part: {key: kind(**item) for key, item in document[part].items()} for part, kind in _PARTS.items()
    }
    found = {}
    for name, entry in document["benchmarks"].items():
        own = {part: [parts[part][key] for key in entry[part]] for part in _PARTS}
        found[name] = BenchmarkInfo(**{**entry, **own})
    return [parts["flags"][key] for key in document["common_flags"]], found


def index_text() -> str:
    """Return the text that index.json should currently contain, with one part or benchmark per line."""
    from asct.sdk.record import COMMON_FLAGS

    parts: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
    common = [_shared(parts["flags"], item._asdict(), "") for item in _flags(COMMON_FLAGS)]
    benchmarks = {}
    for benchmark in Registry().all():
        entry = describe(benchmark)._asdict()
        for part in _PARTS:
            entry[part] = [_shared(parts[part], item._asdict(), benchmark.name) for item in entry[part]]
        benchmarks[benchmark.name] = entry
    keys = {key.path: key._asdict() for key in common_keys()}
    blocks = (
        f"{_line(name)}: {{\n" + ",\n".join(f"{_line(key)}: {_line(item)}" for key, item in items.items()) + "\n}"
        for name, items in {**parts, "benchmarks": benchmarks, "plan_keys": keys}.items()
    )
    return f'{{\n"common_flags": {_line(common)},\n' + ",\n".join(blocks) + "\n}\n"


def _shared(parts: dict[str, Any], item: dict[str, Any], owner: str) -> str:
    """Return the key of an item in the shared parts.

    A new item is added under its name or, if that name is taken, under `NAME of OWNER`.
    """
    name = str(item["name"])
    for key in (name, *(key for key in parts if key.startswith(f"{name} of "))):
        if parts.setdefault(key, item) == item:
            return key
    parts[f"{name} of {owner}"] = item
    return f"{name} of {owner}"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def describe(benchmark: Benchmark[Any]) -> BenchmarkInfo:
    """Return the index entry of a benchmark."""
    return BenchmarkInfo(
        name=benchmark.name,
        title=benchmark.title,
        summary=benchmark.summary,
        aliases=list(benchmark.aliases),
        keywords=list(benchmark.keywords),
        default=benchmark.default,
        hidden=benchmark.hidden,
        needs=[item.benchmark for item in benchmark.dependencies],
        settings=_settings(benchmark),
        metrics=[MetricInfo(one.name, one.unit, one.better, list(one.coords), one.help) for one in benchmark.metrics],
        flags=_flags(benchmark.flags),
    )


def _settings(benchmark: Benchmark[Any]) -> list[SettingInfo]:
    schema = benchmark.params_model.model_json_schema()
    found = []
    for name, field in benchmark.params_model.model_fields.items():
        own = schema["properties"][name]
        reference = str(own.get("$ref", "")).rpartition("/")[2]
        kind = _type_name(schema["$defs"][reference] if reference else own)
        default, aliases = _format_value(kind, field.default), own.get("aliases", [])
        more = own.get("pitfalls", ""), own.get("resembles", [])
        found.append(SettingInfo(name, kind, default, aliases, field.description or "", *more))
    return found


def _format_value(kind: str, value: Any) -> str:
    if value is None or (isinstance(value, list | tuple) and not value):
        return "-"
    if isinstance(value, list | tuple):
        return ",".join(_format_value(kind, item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if "duration" in kind and isinstance(value, int | float):
        from asct.values.duration import format_duration

        return format_duration(value)
    if "size" in kind and isinstance(value, int):
        from asct.values.size import format_size

        return format_size(value)
    return str(value)


def _type_name(schema: dict[str, Any]) -> str:
    """Return a name for the type that a JSON Schema describes: size, duration, integer, list of ..., or the possible
    values."""
    if "enum" in schema:
        return "|".join(str(item) for item in schema["enum"])
    if "anyOf" in schema:
        return "|".join(_type_name(item) for item in schema["anyOf"] if item.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}"
    by_unit = {"B": "size", "s": "duration", "ops/s": "rate"}
    return by_unit.get(str(schema.get("unit")), str(schema.get("type", "any")))


def _flags(flags: Mapping[str, str]) -> list[FlagInfo]:
    from asct.sdk.record import doubtful

    return [FlagInfo(name, doubtful(name), meaning) for name, meaning in flags.items()]


if __name__ == "__main__":
    INDEX.write_text(index_text(), encoding="utf-8")
