"""Finding things by name for `list`, `explain` and `run`, with a suggestion when there is no such thing."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

import click

from asct.diagnostics.suggest import nearest
from asct.registry import installed
from asct.sdk.benchmark import Benchmark


def find_benchmark(name: str) -> Benchmark[Any]:
    """By name or alias; a usage error with the nearest name otherwise."""
    found = installed().get(name)
    if found is None:
        close = nearest(name, [*installed().names(), *(alias for item in installed().all() for alias in item.aliases)])
        advice = f"; did you mean `{close}`?" if close else "; `asct list` shows them"
        raise click.UsageError(f"no benchmark named `{name}`{advice}")
    return found


def readme(benchmark: Benchmark[Any]) -> str:
    """The README.md of the benchmark's folder."""
    place = Path(inspect.getfile(type(benchmark))).parent / "README.md"
    return place.read_text(encoding="utf-8")


def first_paragraph(markdown: str) -> str:
    """The first paragraph below the title, on one line."""
    blocks = [block.strip() for block in markdown.split("\n\n")]
    text = next((block for block in blocks if block and not block.startswith("#")), "")
    return " ".join(text.split())


def describe_settings(benchmark: Benchmark[Any]) -> list[dict[str, Any]]:
    """One row per setting: name, type, default as one would write it, other spellings, help."""
    rows = []
    for name, info in benchmark.params_model.model_fields.items():
        extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        aliases = extra.get("aliases", [])
        rows.append(
            {
                "name": name,
                "type": _type_of(benchmark, name),
                "default": show_value(benchmark.name, name, info.default),
                "aliases": " ".join(str(item) for item in aliases) if isinstance(aliases, list) else "",
                "help": info.description or "",
            }
        )
    return rows


@cache
def _schema(benchmark: Benchmark[Any]) -> dict[str, Any]:
    return benchmark.settings_schema()


def _type_of(benchmark: Benchmark[Any], name: str) -> str:
    """A word for the type of a setting."""
    whole = _schema(benchmark)
    schema = whole.get("properties", {}).get(name, {})
    reference = str(schema.get("$ref", ""))
    return _type_name(whole.get("$defs", {}).get(reference.rpartition("/")[2], schema))


def _type_name(schema: dict[str, Any]) -> str:
    """A word for a JSON Schema: size, duration, integer, one of ..., list of ..."""
    if "enum" in schema:
        return "|".join(str(item) for item in schema["enum"])
    if "anyOf" in schema:
        return "|".join(_type_name(item) for item in schema["anyOf"] if item.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}"
    by_unit = {"B": "size", "s": "duration", "ops/s": "rate"}
    return by_unit.get(str(schema.get("unit")), str(schema.get("type", "any")))


def _shown(value: Any, as_size: bool) -> str:
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        if not value:
            return "-"
        return ",".join(_shown(item, as_size) for item in value)
    if as_size and isinstance(value, int) and not isinstance(value, bool):
        from asct.values.size import format_size

        return format_size(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def show_value(benchmark: str, name: str, value: Any) -> str:
    """A canonical value of a setting as one would write it: sizes with their suffix, durations with their unit."""
    found = installed().get(benchmark)
    kind = _type_of(found, name) if found is not None else ""
    if "duration" in kind and isinstance(value, int | float):
        from asct.values.duration import format_duration

        return format_duration(value)
    return _shown(value, "size" in kind)


def written_value(benchmark: Benchmark[Any], name: str, value: Any) -> Any:
    """A canonical value as a plan writes it: sizes and durations as text with their unit, the rest as it is."""
    if isinstance(value, (list, tuple)):
        return [written_value(benchmark, name, item) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and any(kind in _type_of(benchmark, name) for kind in ("size", "duration")):
        return show_value(benchmark.name, name, value)
    return value
