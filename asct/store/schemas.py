"""Generate the JSON Schemas in results_schema/ from the models. A test compares the generated schemas with the
files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from pydantic import BaseModel

from asct.diagnostics.model import Diagnostic
from asct.resources import folder
from asct.sdk.disturbance import Disturbances
from asct.sdk.facts import HostFacts
from asct.sdk.record import Record
from asct.store.documents import VERSIONS
from asct.store.model import Audit, CommandDocument, Run, Status, StepNote, StreamLine, Telemetry

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MODELS: dict[str, tuple[type[BaseModel], str]] = {
    "run": (Run, "run.json: what was run, where, and how it ended"),
    "record": (Record, "one line of records.jsonl: one measured value with its coordinates"),
    "facts": (HostFacts, "facts/<host>.json: facts of a host"),
    "disturbances": (Disturbances, "disturbances/<host>.json: host conditions that distort results, with fix and undo"),
    "status": (Status, "status.json: how one repeat ended, with its command lines, host state and checksums"),
    "command": (CommandDocument, "`command` in status.json: the command lines of one repeat"),
    "step": (StepNote, "one line of steps.jsonl: a finished step, after which the repeat can be resumed"),
    "audit": (Audit, "audit.json: inspections of a job's targets, decisions, and bytes written"),
    "telemetry": (
        Telemetry,
        "`telemetry` in status.json: host state before and after one repeat, and whether the host was quiet",
    ),
    "kernel": (StreamLine, "one line of a measurement kernel's standard output"),
}


def file_name(kind: str) -> str:
    """Return the name of a schema file, such as `run.v1.json`."""
    return f"{kind}.v{VERSIONS.get(kind, 1)}.json"


def headed(kind: str, description: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that starts with its dialect, name and description."""
    rest = {key: value for key, value in body.items() if key not in ("title", "description")}
    version = VERSIONS.get(kind, 1)
    head = {"$schema": _DIALECT, "$id": f"urn:asct:{kind}:{version}", "title": f"asct.{kind}/{version}"}
    return {**head, "description": description, **rest}


def document_schemas() -> dict[str, dict[str, Any]]:
    """Return all schemas in this package, keyed by kind."""
    return {kind: model_schema(kind, model, description) for kind, (model, description) in _MODELS.items()}


def model_schema(kind: str, model: type[BaseModel], description: str) -> dict[str, Any]:
    """Return the schema for a kind of document. The field `schema` is required, although the model has a default for
    it."""
    body = model.model_json_schema(by_alias=True, mode="validation")
    if "schema" in body.get("properties", {}):
        body["required"] = sorted({"schema", *body.get("required", ())})
    return headed(kind, description, body)


def schema_of(kind: str) -> dict[str, Any]:
    """Return the schema for one kind of document from results_schema/, including the schema for events, which the
    engine generates.

    Raises FileNotFoundError for an unknown kind or an incomplete installation.
    """
    schema: dict[str, Any] = json.loads((folder("results_schema") / file_name(kind)).read_text(encoding="utf-8"))
    return schema


def schema_text(schema: Mapping[str, Any]) -> str:
    """Return a schema as text, in the format of the files in results_schema/."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


@cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    """Return a validator for a schema in results_schema/. Raises FileNotFoundError if the installation is
    incomplete."""
    return jsonschema.Draft202012Validator(schema_of(kind))


@cache
def _variants(kind: str) -> dict[str, jsonschema.Draft202012Validator]:
    """Return one validator for each value of `t` in a schema that consists of alternatives. Such a validator is faster
    than the whole schema, and its errors name the invalid field."""
    schema = schema_of(kind)
    found = {}
    for name, definition in schema["$defs"].items():
        tag = definition.get("properties", {}).get("t", {}).get("const")
        if tag is not None:
            one = {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
            found[tag] = jsonschema.Draft202012Validator(one)
    return found


def violations(kind: str, document: Mapping[str, Any], place: str, limit: int = 3) -> list[Diagnostic]:
    """Check `document` against the schema of its kind, and return a finding (E508) for each violation, up to `limit`
    findings."""
    found = []
    chosen = _variants(kind).get(str(document.get("t"))) if kind == "event" else None
    for error in (chosen or validator(kind)).iter_errors(document):
        field = ".".join(str(part) for part in error.absolute_path) or "the document"
        message = error.message if len(error.message) <= 200 else error.message[:200] + "…"
        found.append(Diagnostic("E508", f"{place}: {field}: {message}"))
        if len(found) == limit:
            break
    return found


def write(target: Path, schemas: Mapping[str, Mapping[str, Any]]) -> list[Path]:
    """Write each schema to the folder `target`, and return the paths."""
    paths = []
    for kind, schema in sorted(schemas.items()):
        path = target / file_name(kind)
        path.write_text(schema_text(schema), encoding="utf-8")
        paths.append(path)
    return paths
