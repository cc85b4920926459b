"""results_schema/ corresponds to the models, and all kinds of documents conform to it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from asct.diagnostics.model import Diagnostic, Span
from asct.engine import events
from asct.engine.event_schema import all_schemas
from asct.engine.events import stamped
from asct.resources import folder
from asct.sdk.record import Record, Stats
from asct.store.documents import VERSIONS
from asct.store.model import End, KernelSample, Meta, StreamLine
from asct.store.schemas import file_name, schema_of, schema_text, validator, violations, write
from tests.store.make import facts, head, record

KINDS = sorted(all_schemas())


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_are_those_of_the_models(kind: str) -> None:
    path = folder("results_schema") / file_name(kind)
    assert path.read_text() == schema_text(all_schemas()[kind]), "run: make schemas"
    jsonschema.Draft202012Validator.check_schema(schema_of(kind))
    assert schema_of(kind)["title"] == f"asct.{kind}/{VERSIONS.get(kind, 1)}"


def test_writing_them(tmp_path: Path) -> None:
    assert [path.name for path in write(tmp_path, all_schemas())] == [file_name(kind) for kind in KINDS]


def test_documents_keep_to_them() -> None:
    for kind, model in (("run", head()), ("record", record()), ("facts", facts())):
        assert violations(kind, model.model_dump(mode="json", by_alias=True), "x") == []


def test_schema_names_are_required() -> None:
    body = record().model_dump(mode="json", by_alias=True)
    del body["schema"]
    assert "'schema' is a required property" in violations("record", body, "x")[0].message


DIAGNOSTIC = Diagnostic("E601", "failed", Span("a.yaml", 1, 2), "here", "mend it", "error", (("a note", None),))


@pytest.mark.parametrize(
    "event",
    [
        events.RunStarted("r", "p", "/x", ("h",), 1, 2, {"h": 1.5}),
        events.HostReady("h", "fast"),
        events.KernelBuilt("h", "chase", "gcc", True, 0.1),
        events.JobStarted("h", "a", "b", 3, 4.5),
        events.PointStarted("h", "a", "p", 0, "x=1", 1.0),
        events.PointEnded("h", "a", "p", 1, "failed", 1.0, "", DIAGNOSTIC),
        events.PointEnded("h", "a", "p", 1, "ok", 1.0),
        events.JobEnded("h", "a", {"ok": 3}),
        events.Notice(None, DIAGNOSTIC),
        events.RunEnded("r", "complete", 0, 1.0, {"html": "report.html"}),
    ],
    ids=lambda event: event.t,
)
def test_events_keep_to_them(event: events.Event) -> None:
    for body in (event.to_json(), stamped(event)):
        assert violations("event", json.loads(json.dumps(body)), "x") == []
    assert violations("event", {**event.to_json(), "more": 1}, "x")


finite = st.floats(allow_nan=False, allow_infinity=False)
scalar = st.one_of(st.text(max_size=20), st.integers(-(2**53), 2**53), finite, st.booleans())
records = st.builds(
    record,
    value=finite,
    coords=st.dictionaries(st.text(max_size=9), scalar, max_size=3),
    point=st.dictionaries(st.text(max_size=9), st.one_of(scalar, st.none(), st.lists(scalar, max_size=3)), max_size=3),
    repeat=st.integers(1, 99),
    flags=st.lists(st.text(max_size=9), max_size=2),
    stats=st.none() | st.builds(Stats, n=st.integers(1, 9), median=finite, mad=finite, min=finite, max=finite),
)


@settings(max_examples=80)
@given(records)
def test_records_survive_a_line(item: Record) -> None:
    line = item.model_dump_json(by_alias=True)
    assert "\n" not in line
    assert Record.model_validate_json(line) == item
    assert validator("record").is_valid(json.loads(line))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_records_are_numbers(value: float) -> None:
    with pytest.raises(ValidationError):
        record(value=value)


def test_lines_of_a_kernel() -> None:
    assert isinstance(StreamLine.model_validate_json('{"t":"meta","kernel":"chase","abi":1,"seed":3}').root, Meta)
    assert isinstance(StreamLine.model_validate_json('{"t":"sample","ns":[1,2],"bytes":64}').root, KernelSample)
    end = StreamLine.model_validate_json('{"t":"end","ok":true}').root
    assert isinstance(end, End) and end.ok
    for text in ('{"t":"other"}', '{"t":"end"}', "{}", "x", '{"t":"end","ok":true'):
        with pytest.raises(ValueError, match=r"."):
            StreamLine.model_validate_json(text)
