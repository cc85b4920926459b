"""Read single documents. Each is identified by its `schema`, migrated to the current version, and validated with its
model."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.store.files import reason_of
from asct.values.strict_json import DECODER

M = TypeVar("M", bound=BaseModel)
Migration = Callable[[dict[str, Any]], dict[str, Any]]

VERSIONS: dict[str, int] = {
    **dict.fromkeys(
        ("run", "record", "facts", "disturbances", "command", "event", "step", "audit", "telemetry", "accepted"), 1
    ),
    "status": 2,
}
"""The version in which asct writes each kind of document."""


def _status_1(body: dict[str, Any]) -> dict[str, Any]:
    """Migrate a status document without command lines, in which the host state consists of the verdict only."""
    verdict = body.get("telemetry")
    unread = "the readings are in telemetry.json"
    nothing: dict[str, Any] = {"verdict": verdict, "steps": 0, "elapsed_s": 0.0, "before": {}, "after": {}}
    telemetry = None if verdict is None else {**nothing, "unknown": {"before": unread, "after": unread}}
    return {**body, "schema": "asct.status/2", "telemetry": telemetry}


MIGRATIONS: dict[tuple[str, int], Migration] = {("status", 1): _status_1}
"""Maps (kind, version) to the function that migrates a document to the next version. The first version is 1."""

_NAME = re.compile(r"asct\.([a-z_]+)/(\d+)")
_LARGEST_BYTES = 256 << 20
_LONGEST_NAME = 255
_LONGEST_PATH = 3000
"""Maximum length of a name, in bytes (NAME_MAX on Linux), and maximum length of a path below a run folder, in
characters."""


_MEASURED_AGAIN = ("status.json", "command.json", "telemetry.json", "steps.jsonl")
"""The files that `asct resume` rewrites."""
_UNIQUE = ("run.json", "plan.resolved.json", "journal.jsonl")
"""The files without which a run can be neither read nor resumed."""


def way_out(place: str) -> str:
    """Return the hint for a damaged document. A line number may follow the path (`:3`)."""
    name = Path(place).name.partition(":")[0]
    if name == "records.jsonl":
        return "`asct results rebuild` restores it from the raw files"
    if name in _UNIQUE:
        return (
            "restore it from a backup; if there is none, run the plan again: `asct apply` with plan.yaml in the run "
            "folder"
        )
    return "`asct resume` measures the affected points again" if name in _MEASURED_AGAIN else "restore it from a backup"


def store_error(code: str, message: str, hint: str = "") -> StoreError:
    """Return a StoreError with one diagnostic."""
    return StoreError(Diagnostic(code, message, hint=hint))


def unreadable(path: Path, error: OSError) -> StoreError:
    """Return the error for a file or folder that cannot be read."""
    return store_error("E515", f"{path}: cannot be read: {reason_of(error)}", "check the permissions")


def inside(root: Path, relative: str) -> Path:
    """Return the path `relative` below `root`. Raises StoreError (E510) if it leads outside `root`, even through a
    link."""
    parts = relative.split("/")
    if relative.startswith("/") or ".." in parts or "\0" in relative:
        raise store_error(
            "E510", f"`{relative}` is outside the run folder", "the results tree was modified outside asct"
        )
    if len(relative) > _LONGEST_PATH or max(map(len, map(os.fsencode, parts))) > _LONGEST_NAME:
        raise store_error(
            "E510", f"the path `{relative[:40]}...` is too long", "the results tree was modified outside asct"
        )
    place = str(root)
    for part in parts:  # a tree has tens of thousands of files, and realpath would take longer than reading them
        place = f"{place}/{part}"
        if os.path.islink(place):  # noqa: PTH114 - for speed, as above
            _check_link(root, relative)
            break
    return Path(f"{root}/{relative}")


def _check_link(root: Path, relative: str) -> None:
    real, real_root = os.path.realpath(root / relative), os.path.realpath(root)
    if real != real_root and not real.startswith(f"{real_root}/"):
        raise store_error("E510", f"`{relative}` leads outside the run folder through a link", "remove the link")


def read_text(path: Path) -> str:
    """Return the text of a file in the results tree. Raises StoreError (E508, E515)."""
    try:
        found = os.stat(path)  # noqa: PTH116 - for speed
        if not stat.S_ISREG(found.st_mode):
            raise FileNotFoundError
        if found.st_size > _LARGEST_BYTES:
            raise store_error(
                "E508", f"{path}: the file is larger than {_LARGEST_BYTES >> 20} MiB, the limit for asct documents"
            )
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - for speed
            return file.readall().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise store_error("E508", f"{path}: the file does not exist", way_out(str(path))) from error
    except UnicodeDecodeError as error:
        raise store_error("E508", f"{path}: the file is not text (byte {error.start})", way_out(str(path))) from error
    except OSError as error:
        raise unreadable(path, error) from error


def parse_object(text: str, place: str, *, nan: bool = False) -> dict[str, Any]:
    """Return the JSON object in `text`. Raises StoreError (E508) with `place`, line and column in its message.

    With `nan`, the object may contain NaN and Infinity, which JSON does not allow but other programs write.
    """
    try:
        value = (_TOLERANT if nan else DECODER).decode(text)
    except (ValueError, RecursionError) as error:
        why = f"cannot be parsed: {error}"
        if isinstance(error, json.JSONDecodeError):
            why = f"incomplete or not JSON: {error.msg.lower()} (line {error.lineno}, column {error.colno})"
        message = f"{place}: {why if text.strip() else 'the file is empty'}"
        raise store_error("E508", message, way_out(place)) from error
    if not isinstance(value, dict):
        raise store_error("E507", f"{place}: contains a {type(value).__name__}, not an object", way_out(place))
    return value


_TOLERANT = json.JSONDecoder()


def current(document: Mapping[str, Any], kind: str, place: str) -> dict[str, Any]:
    """Return `document` in the current version of `kind`, after migrating an older document in memory.

    Raises StoreError (E507 if the document is not of the kind `asct.<kind>`, E509 if its version is newer).
    """
    name = document.get("schema")
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or match[1] != kind:
        found = f"`{name}`" if isinstance(name, str) else "none"
        raise store_error("E507", f"{place}: expected schema asct.{kind}/{VERSIONS[kind]}, found {found}")
    version = int(match[2])
    if version > VERSIONS[kind]:
        message = (
            f"{place}: has schema {name}; this version of asct supports formats up to asct.{kind}/{VERSIONS[kind]}"
        )
        raise store_error("E509", message, "use a newer asct version")
    result = dict(document)
    while version < VERSIONS[kind]:
        migration = MIGRATIONS.get((kind, version))
        if migration is None:
            raise store_error("E507", f"{place}: schema asct.{kind}/{version} does not exist")
        result = migration(result)
        version += 1
    return result


def validated(model: type[M], document: Mapping[str, Any], place: str) -> M:
    """Return `document` as an instance of `model`. Raises StoreError (E508) with the first invalid field in its
    message."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the document"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise store_error("E508", f"{place}: {field}: {first['msg'].lower()}{more}", way_out(place)) from error


def load(model: type[M], kind: str, path: Path, place: str = "") -> M:
    """Read, migrate and validate one document file."""
    place = place or str(path)
    return validated(model, current(parse_object(read_text(path), place), kind, place), place)
