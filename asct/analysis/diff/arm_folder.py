"""Read the folders that Arm's ASCT 0.5 and 0.6 wrote.

`asct.json` identifies a folder. Since 0.5.1, `raw/<recipe>/` contains the result of a recipe (`data.json`), the table
of a sweep (`summary.json`), the configuration (`metadata.json`) and a checksum of these files (`.hash`). 0.5.0 wrote
everything to `asct.json`: the results under the key `raw`, and the sweep tables under the key `diff`. `report.json`
(`--format json`) contains the tables again; it is used for recipes whose results are in no other file. The layout is
taken from ASCT's published source code.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from asct.analysis.diff.arm_recipes import NOT_COMPARED, RECIPES
from asct.analysis.diff.arm_tables import misfit
from asct.analysis.grid import plain
from asct.diagnostics.model import Diagnostic
from asct.store.documents import inside, parse_object, read_text, store_error, unreadable
from asct.values.error import clip
from asct.values.grouping import shortened

MANIFEST: Final = "asct.json"
SYSTEM: Final = "system-info"
_REPORT: Final = "report.json"
_PARTS: Final = ("data.json", "metadata.json", "summary.json")
_OLDEST, _NEWEST = (0, 5), (0, 6)
_VERSION: Final = re.compile(r"([0-9]{1,5})\.([0-9]{1,5})(?:[.+-].{0,100})?")
_LONGEST_OPTION: Final = 10_000
_MOST_NAMES: Final = 5


@dataclass(slots=True)
class ArmResult:
    """The data that a folder contains for a recipe. `place` is the path of its file below the folder; `data` is None if
    there is no result."""

    place: str = ""
    data: Mapping[str, Any] | None = None
    summary: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ArmFolder:
    """The content of a folder. `results` maps the name of every recipe that the folder mentions to its data; `gaps` and
    `notes` have the same meaning as in DiffSource."""

    root: Path
    metadata: Mapping[str, Any]
    version: str
    results: dict[str, ArmResult] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)

    def note(self, message: str, hint: str = "") -> None:
        """Add a warning about content of the folder that is not compared."""
        self.notes.append(Diagnostic("E532", f"{plain(str(self.root))}: {message}", hint=hint, severity="warning"))

    def option(self, name: str) -> str:
        """Return an option from ASCT's command line as text, or an empty string if it is unknown."""
        options = self.metadata.get("cmd_arguments")
        found = options.get(name) if isinstance(options, dict) else None
        return found if isinstance(found, str) else ""

    def requested(self, name: str) -> dict[str, Any]:
        """Return the settings that the user changed for a recipe."""
        config = self.metadata.get("user_config")
        if not isinstance(config, dict) and len(self.option("update_config")) < _LONGEST_OPTION:
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                config = ast.literal_eval(self.option("update_config"))
        settings = config.get(name) if isinstance(config, dict) else None
        return settings if isinstance(settings, dict) else {}

    def config(self, name: str) -> dict[str, Any]:
        """Return a recipe's settings as recorded by ASCT, or, failing that, only those that the user changed."""
        recorded = self.results[name].metadata.get("config")
        return {**self.requested(name), **(recorded if isinstance(recorded, dict) else {})}


def is_arm_asct(folder: Path) -> bool:
    """Return whether the folder contains results of Arm's ASCT. The result is False if the folder cannot be read."""
    with suppress(OSError):
        return (folder / MANIFEST).is_file()
    return False


def read_folder(root: Path) -> ArmFolder:
    """Return the content of a folder that ASCT wrote.

    Raises StoreError: E508 or E515 for a file that cannot be read, E510 for a link that leads outside the folder, E530
    for content that ASCT does not write, and E531 for a version that is not supported.
    """
    manifest = _document(root, MANIFEST)
    metadata = _metadata(manifest, f"{root / MANIFEST}")
    folder = ArmFolder(root, metadata, _supported(metadata.get("version"), f"{root / MANIFEST}"))
    folder.results.update(_older(manifest, f"{root / MANIFEST}"))
    for name in _names(root):
        folder.results[name] = _newer(folder, name) or folder.results.get(name, ArmResult(f"raw/{name}"))
    if (root / _REPORT).exists():
        _add_report(folder)
    _note_gaps(folder)
    return folder


def _document(root: Path, relative: str) -> dict[str, Any]:
    return _parsed(read_text(inside(root, relative)), f"{root / relative}")


def _parsed(text: str, place: str) -> dict[str, Any]:
    return parse_object(text, place, nan=True)


def _metadata(manifest: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the metadata of a run, including flattened keys such as `metadata.version`, which ASCT 0.5.0 wrote."""
    found = manifest.get("metadata")
    flat = manifest.get("diff")
    if found is None and isinstance(flat, dict):
        options = {key.rpartition(".")[2]: value for key, value in flat.items() if key.startswith("metadata.cmd_")}
        found = {key.removeprefix("metadata."): value for key, value in flat.items() if key.startswith("metadata.")}
        found = {**found, "cmd_arguments": options}
    if not isinstance(found, dict):
        raise misfit(f"{place}: there is no metadata, so ASCT 0.5 or 0.6 did not write the file")
    return found


def _supported(version: object, place: str) -> str:
    """Return the version after checking it. Raises StoreError (E531)."""
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        raise store_error("E531", f"{place}: `{clip(version)}` is not a version of ASCT", "restore it from a backup")
    number = int(match[1]), int(match[2])
    if number < _OLDEST:
        hint = "measure again with ASCT 0.5 or 0.6, or with asct"
        raise store_error("E531", f"{place}: ASCT {clip(version)} is too old: asct reads ASCT 0.5 and 0.6", hint)
    if number > _NEWEST:
        hint = "use a newer asct version, or measure again with ASCT 0.6 or with asct"
        raise store_error("E531", f"{place}: ASCT {clip(version)} is too new: asct reads ASCT 0.5 and 0.6", hint)
    return match[0]


def _older(manifest: Mapping[str, Any], place: str) -> Iterator[tuple[str, ArmResult]]:
    """Yield the results in asct.json itself."""
    raw, flat = manifest.get("raw", {}), manifest.get("diff", {})
    if not isinstance(raw, dict) or not isinstance(flat, dict):
        raise misfit(f"{place}: `{'diff' if isinstance(raw, dict) else 'raw'}` is not an object")
    for name, entry in raw.items():
        location = f"{place}: raw.{clip(name)}"
        item = entry if isinstance(entry, dict) and "raw_result" in entry else {"raw_result": entry}
        data, metadata = item["raw_result"], item.get("metadata")
        if isinstance(data, str):
            data = _parsed(data, location)
        if name in RECIPES and not isinstance(data, dict):
            raise misfit(f"{location} is not an object")
        known = metadata if isinstance(metadata, dict) else {}
        yield name, ArmResult(MANIFEST, data if isinstance(data, dict) else None, _flat_summary(name, flat), known)


def _flat_summary(name: str, flat: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Return the table of a sweep, restored from flattened names. In `latency-sweep.data.Lower Bound.L1`, the column
    comes before the row; in `bandwidth-sweep.data.L1.Datasize Used`, it is the reverse."""
    table: dict[str, dict[str, Any]] = {}
    for key, value in flat.items():
        first, dot, last = key.removeprefix(f"{name}.data.").rpartition(".")
        if not key.startswith(f"{name}.data.") or not dot:
            continue
        if name == "latency-sweep":
            table.setdefault(first, {})[last] = value
        elif name == "bandwidth-sweep":
            table.setdefault(last, {})[first] = value
            table.setdefault("Level", {})[first] = first
    return table or None


def _names(root: Path) -> list[str]:
    """Return the sorted names of the folders below raw/."""
    raw = inside(root, "raw")
    try:
        with os.scandir(raw) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise misfit(f"{raw}: this is not a folder") from error
    except OSError as error:
        raise unreadable(raw, error) from error


def _newer(folder: ArmFolder, name: str) -> ArmResult | None:
    """Return the result in raw/<recipe>/, or None if there is none. The files of other recipes are not read."""
    if name not in RECIPES and name != SYSTEM:
        return ArmResult(f"raw/{name}", {})
    paths = {part: inside(folder.root, f"raw/{name}/{part}") for part in (*_PARTS, ".hash")}
    texts = {part: read_text(path) for part, path in paths.items() if path.exists()}
    if "data.json" not in texts:
        return None
    expected = texts.pop(".hash", "").strip()
    digest = hashlib.sha256(b"".join(f"{part}\0{texts[part]}\0".encode() for part in sorted(texts))).hexdigest()
    if expected and expected != digest:
        folder.note(f"raw/{name}: the files do not match .hash, so they have changed since ASCT wrote them")
    found = {part: _parsed(text, str(paths[part])) for part, text in texts.items()}
    place = f"raw/{name}/data.json"
    return ArmResult(place, found["data.json"], found.get("summary.json"), found.get("metadata.json", {}))


def _add_report(folder: ArmFolder) -> None:
    """Add the recipe results that only report.json contains."""
    report = _document(folder.root, _REPORT)
    groups = (content for content in report.values() if isinstance(content, dict))
    tables = {name: table for group in (report, *groups) for name, table in group.items() if isinstance(table, dict)}
    for name in (*RECIPES, SYSTEM):
        known = folder.results.get(name)
        if name in tables and (known is None or known.data is None):
            folder.results[name] = ArmResult(_REPORT, tables[name])


def _note_gaps(folder: ArmFolder) -> None:
    """Record what is missing from the folder, and add notes on what is not compared."""
    options = folder.metadata.get("cmd_arguments")
    names = options.get("benchmarks") if isinstance(options, dict) else None
    requested = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    known = {*RECIPES, *NOT_COMPARED}
    lacking = [name for name in requested if name not in folder.results]
    lacking += [name for name, result in folder.results.items() if result.data is None and name in RECIPES]
    if lacking:
        folder.gaps.append(f"has no results for {shortened([clip(name) for name in lacking], _MOST_NAMES)}")
    if folder.option("dev_mode") == "True":
        folder.gaps.append("contains ASCT's sample data instead of measurements (`--dev-mode`)")
    strange = [clip(name) for name in folder.results if name not in known]
    if strange:
        folder.note(f"asct does not know the recipes {shortened(strange, _MOST_NAMES)}, so they are not compared")
    other = [name for name in folder.results if NOT_COMPARED.get(name)]
    if other:
        folder.note(f"asct does not compare {', '.join(f'{NOT_COMPARED[name]} ({name})' for name in other)}")
