"""The plan language as a JSON Schema (draft 2020-12), for completion and checks in editors.

The schema accepts every plan that asct accepts; `asct check` also checks references, sweeps and units. For each
benchmark, an if/then on `uses` selects its settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from asct.plan.formats import report_formats
from asct.plan.model import ORDERS, RETRY_ON, SWEEP_WORDS
from asct.resources import data
from asct.transports import Option, sources, transport

if TYPE_CHECKING:
    from asct.sdk.benchmark import Benchmark

Schema = dict[str, Any]

SIZE: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*(B|kB|kiB|[KMGTP](i?B|i)?)?\s*$"
DURATION: Final = r"^(\s*[0-9]+(\.[0-9]+)?\s*(d|h|m|min|s|ms|us|µs|ns))+\s*$"
COUNT: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*[kKMGT]?\s*$"
TEMPLATE: Final[Schema] = {"type": "string", "pattern": r"\$\{"}
_TEXT: Final[Schema] = {"type": "string", "minLength": 1}
_KINDS: Final[dict[str, Schema]] = {
    "text": _TEXT,
    "texts": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]},
    "scalar": {"type": ["string", "number", "boolean"]},
    "bound": {"type": ["string", "number"]},
    "object": {"type": "object"},
    "any": {},
    "boolean": {"type": "boolean"},
    "flag": {"anyOf": [{"type": "boolean"}, TEMPLATE]},
}


def plan_schema(benchmarks: Sequence[Benchmark[Any]]) -> Schema:
    """Return the plan schema, with the names and settings of `benchmarks`."""
    names = [name for benchmark in benchmarks for name in (benchmark.name, *benchmark.aliases)]
    known = [{"const": item.name, "description": item.summary} for item in benchmarks]
    lists = {"ORDERS": ORDERS, "RETRY_ON": RETRY_ON, "TRANSPORTS": tuple(sources()), "FORMATS": tuple(report_formats())}
    parts = {"DURATION": DURATION, "SIZE": SIZE, "TEMPLATE": TEMPLATE}
    parts["BENCHMARKS"] = {"anyOf": [*known, {"enum": names}]} if names else _TEXT
    schema: Schema = _expanded(data(__file__, "schema.yaml"), lists, parts)
    definitions = schema["$defs"]
    definitions["host"]["type"] = ["object", "null"]
    for name in sources():
        options = transport(name).options.items()
        definitions["host"]["properties"] |= {key: _option(option) for key, option in options}
    if benchmarks:
        definitions["entry"]["allOf"] = [_rule(benchmark) for benchmark in benchmarks]
    definitions |= {f"settings.{item.name}": settings_schema(item) for item in benchmarks}
    return schema


def _expanded(node: Any, lists: Mapping[str, Sequence[str]], parts: Mapping[str, Any]) -> Any:
    """Convert a node in schema.yaml to JSON Schema; a comment in that file explains the notation."""
    if isinstance(node, list):
        return [_expanded(item, lists, parts) for item in node]
    if not isinstance(node, dict):
        return parts.get(node, node) if isinstance(node, str) else node
    about = {"description": node["about"]} if "about" in node else {}
    if "is" in node:
        return _kind(node["is"], lists) | about
    if "fields" in node:
        fields = {key: _expanded(item, lists, parts) for key, item in node["fields"].items()}
        closed = {"type": "object", "additionalProperties": False, "properties": fields}
        return closed | about | ({"required": node["required"]} if "required" in node else {})
    return {key: _expanded(item, lists, parts) for key, item in node.items()}


def _kind(kind: str, lists: Mapping[str, Sequence[str]]) -> Schema:
    first, _, rest = kind.partition(" ")
    inner = rest.removeprefix("of ")
    if kind.startswith("#"):
        return {"$ref": f"#/$defs/{kind[1:]}"}
    if first == "whole":
        return {"anyOf": [{"type": "integer", "minimum": int(rest)}, TEMPLATE]}
    if first == "one" or kind.startswith("texts of "):
        words: Schema = {"enum": [*lists.get(inner, inner.split("|"))]}
        return words if first == "one" else {"anyOf": [words, {"type": "array", "items": words}]}
    if first == "list":
        return {"type": "array", "items": _kind(inner, lists)}
    if first == "map":
        return {"type": "object", "additionalProperties": _kind(inner, lists)}
    return dict(_KINDS[kind])


def _option(option: Option) -> Schema:
    kinds = {"path": "text", "whole": f"whole {option.bounds[0]}", "duration": "#duration"}
    return _kind(kinds.get(option.kind, option.kind), {}) | {"description": option.description}


def _rule(benchmark: Benchmark[Any]) -> Schema:
    """Return the rule that permits only this benchmark's settings in entries that use it."""
    names = sorted(benchmark.params_model.aliases())
    then: Schema = {
        "config": {"$ref": f"#/$defs/settings.{benchmark.name}"},
        "sweep": {"type": "object", "propertyNames": {"enum": [*names, *SWEEP_WORDS]}},
    }
    uses = {"properties": {"uses": {"enum": [benchmark.name, *benchmark.aliases]}}, "required": ["uses"]}
    return {"if": uses, "then": {"properties": then}}


def settings_schema(benchmark: Benchmark[Any]) -> Schema:
    """Return the schema for a benchmark's settings in a plan, including all of their spellings."""
    model = benchmark.params_model
    schema = benchmark.params_model.model_json_schema()
    own: Schema = schema.get("properties", {})
    free = {name for name, info in model.model_fields.items() if _reads_more(info)}
    schemas = {name: _setting(own[name], schema.get("$defs", {}), name in free) for name in own}
    properties = {spelling: schemas[name] for spelling, name in model.aliases().items() if name in schemas}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "description": benchmark.title,
    }


def _reads_more(info: Any) -> bool:
    """Return whether a field has a custom validator, so that it accepts more values than its type alone would."""
    readers = [item for item in info.metadata if type(item).__name__ == "BeforeValidator"]
    return any(getattr(item.func, "__module__", "").split(".")[:2] != ["asct", "values"] for item in readers)


def _setting(schema: Schema, definitions: Schema, free: bool) -> Schema:
    described: Schema = {key: schema[key] for key in ("description", "default") if key in schema}
    if free:
        return described
    return {"anyOf": [_with_notations(schema, definitions), TEMPLATE], **described}


def _with_notations(schema: Schema, definitions: Schema) -> Schema:
    """Extend the schema of a canonical value so that it allows the notations used in plans: units, suffixes and
    templates."""
    if "$ref" in schema:
        return _with_notations(definitions.get(str(schema["$ref"]).rpartition("/")[2], {}), definitions)
    if "anyOf" in schema:
        return {"anyOf": [_with_notations(item, definitions) for item in schema["anyOf"]]}
    unit, kind = schema.get("unit"), schema.get("type")
    if unit in ("B", "s"):
        return {"$ref": f"#/$defs/{'size' if unit == 'B' else 'duration'}"}
    if kind == "array":
        items = _with_notations(schema.get("items", {}), definitions)
        return {"type": "array", "items": {"anyOf": [items, TEMPLATE]}}
    if kind in ("integer", "number"):
        return {"anyOf": [_plain(schema), {"type": "string", "pattern": COUNT}]}
    return _plain(schema)


def _plain(schema: Schema) -> Schema:
    keywords = ("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern")
    return {key: schema[key] for key in keywords if key in schema}
