"""The settings of a benchmark as JSON Schema: what its model takes, widened to what a plan may write."""

from __future__ import annotations

from typing import Any, Final

from asct.sdk.benchmark import Benchmark

Schema = dict[str, Any]

SIZE: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*(B|kB|kiB|[KMGTP](i?B|i)?)?\s*$"
DURATION: Final = r"^(\s*[0-9]+(\.[0-9]+)?\s*(d|h|m|min|s|ms|us|µs|ns))+\s*$"
COUNT: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*[kKMGT]?\s*$"
TEMPLATE: Final[Schema] = {"type": "string", "pattern": r"\$\{"}


def settings_schema(benchmark: Benchmark[Any]) -> Schema:
    """The settings of a benchmark as a plan may write them, under all their spellings."""
    model = benchmark.params_model
    schema = benchmark.settings_schema()
    own: Schema = schema.get("properties", {})
    free = {name for name, info in model.model_fields.items() if _reads_more(info)}
    written = {name: _setting(own[name], schema.get("$defs", {}), name in free) for name in own}
    properties = {spelling: written[name] for spelling, name in model.aliases().items() if name in written}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "description": benchmark.title,
    }


def _reads_more(info: Any) -> bool:
    """Whether a field reads more than its type says (a validator of its own before it)."""
    readers = [item for item in info.metadata if type(item).__name__ == "BeforeValidator"]
    return any(getattr(item.func, "__module__", "").split(".")[:2] != ["asct", "values"] for item in readers)


def _setting(schema: Schema, definitions: Schema, free: bool) -> Schema:
    told: Schema = {key: schema[key] for key in ("description", "default") if key in schema}
    if free:
        return told
    return {"anyOf": [_written(schema, definitions), TEMPLATE], **told}


def _written(schema: Schema, definitions: Schema) -> Schema:
    """The schema of a canonical value widened to what a plan may write: units, suffixes, templates."""
    if "$ref" in schema:
        return _written(definitions.get(str(schema["$ref"]).rpartition("/")[2], {}), definitions)
    if "anyOf" in schema:
        return {"anyOf": [_written(item, definitions) for item in schema["anyOf"]]}
    unit, kind = schema.get("unit"), schema.get("type")
    if unit in ("B", "s"):
        return {"$ref": f"#/$defs/{'size' if unit == 'B' else 'duration'}"}
    if kind == "array":
        items = _written(schema.get("items", {}), definitions)
        return {"type": "array", "items": {"anyOf": [items, TEMPLATE]}}
    if kind in ("integer", "number"):
        return {"anyOf": [_plain(schema), {"type": "string", "pattern": COUNT}]}
    return _plain(schema)


def _plain(schema: Schema) -> Schema:
    kept = ("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern")
    return {key: schema[key] for key in kept if key in schema}
