"""The JSON Schema of events (asct.event/1).

`make schemas` writes all schemas to results_schema/.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from asct.diagnostics.model import Diagnostic
from asct.engine import events
from asct.facts.cmn.model import CmnReport
from asct.store.schemas import document_schemas, headed, model_schema, write

_KINDS = [
    kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.Event) and kind.t
]


def event_schema() -> dict[str, Any]:
    """Return the event schema, with one alternative per event kind. Journal lines also contain the time, `at`."""
    body = {"oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in _KINDS]}
    definitions = {kind.__name__: _kind(kind) for kind in _KINDS}
    definitions["Diagnostic"] = _diagnostic()
    description = "one line of journal.jsonl, or of `asct apply --json`"
    return headed("event", description, {**body, "$defs": definitions})


def _kind(kind: type[events.Event]) -> dict[str, Any]:
    found = TypeAdapter(kind).json_schema(mode="validation")
    properties = {
        "schema": {"const": "asct.event/1"},
        "t": {"const": kind.t},
        "at": {
            "type": "string",
            "format": "date-time",
            "description": "time at which the event was written to the journal",
        },
    }
    for item in fields(kind):
        if item.name == "diagnostic":
            properties[item.name] = {"$ref": "#/$defs/Diagnostic"}
        else:
            properties[item.name] = found["properties"][item.name]
    required = ["schema", "t", *(item.name for item in fields(kind) if item.name != "diagnostic")]
    text = (kind.__doc__ or "").strip()
    return {
        "type": "object", "description": text, "properties": properties,
        "required": required, "additionalProperties": False,
    }  # fmt: skip


def _diagnostic() -> dict[str, Any]:
    text, number = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
    properties: dict[str, Any] = {
        "schema": {"const": "asct.diagnostic/1"},
        "code": {"type": "string"},
        "severity": {"enum": ["error", "warning", "note"]},
        "message": {"type": "string"},
        **dict.fromkeys(("file", "label", "hint"), text),
        **dict.fromkeys(("line", "column", "length"), number),
        "notes": {"type": "array", "items": {"type": "string"}},
    }
    if set(properties) != set(Diagnostic("E000", "").to_json()):
        raise AssertionError("the diagnostics schema does not list the fields of a diagnostic")
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def all_schemas() -> dict[str, dict[str, Any]]:
    """Return all schemas in results_schema/ that are generated from models, keyed by document kind."""
    meshes = model_schema("cmn", CmnReport, "the output of `asct cmn --json`: the coherent meshes of a machine")
    return {**document_schemas(), "cmn": meshes, "event": event_schema()}


if __name__ == "__main__":
    write(Path(sys.argv[1]), all_schemas())
