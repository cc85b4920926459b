"""Trees in which all text that a plan, a host, a program or another person may have written is hostile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from asct.sdk.disturbance import Disturbances
from asct.sdk.facts import HostFacts
from asct.sdk.record import Record
from asct.store.model import Run, Status

TEXT = (
    "`|\\</script></style>--><img src=x onerror=\"window.hacked='img'\"><svg onload=\"window.hacked='svg'\">\n"
    "::add-mask::e ##[add-mask]e ##[group]x\n"
    "===\r\x1b[31m\x9b1m\x00\u2028\u202e{{7*7}}{%raw%}${7*7}%{fullData.name}<extra>x</extra>"
    "<a href=\"javascript:window.hacked='a'\">x</a><a href='data:text/html,x'>y</a> "
    "$\\href{javascript:window.hacked='tex'}{x}$ ![i](https://evil.example/i.png) [l](javascript:alert(1)) "
    "<https://evil.example> https://evil.example/x www.evil.example a@evil.example @team @o/t #12 o/r#34 GH-56 "
    '[^1] ~~x~~ &lt;b&gt; =HYPERLINK("https://evil.example") 😀\u0301'
)
LINES = (f"::add-mask::e{TEXT}", f"=1+1{TEXT}", f"# h{TEXT}", f"---{TEXT}", f"<b>{TEXT}")
_MODELS: Mapping[str, type[BaseModel]] = {
    "run.json": Run, "status.json": Status,
    "facts": HostFacts, "disturbances": Disturbances,
}  # fmt: skip
_KEPT = frozenset({"schema", "host", "hosts", "id", "benchmark", "point_id", "raw", "started_at", "version"})
"""The fields that connect the documents of a tree. Names that become folders are checked when a tree is read."""
_FREE = frozenset({"settings", "swept", "at", "unknown", "tools", "counts", "host_reasons", "point", "coords"})
"""Maps whose keys are words as well."""


def spoil(root: Path, version: bool = False) -> None:
    """Make every text in the documents below `root` hostile, as far as the models allow. If `version` is set, this
    includes the text from benchmarks, metrics and units; reports then show plain tables."""
    kept = _KEPT - {"version"} if version else _KEPT | {"metric", "unit", "level", "coords", "point", "swept"}
    for path in sorted(root.rglob("*.json")):
        model = _MODELS.get(path.name) or _MODELS.get(path.parent.name)
        body = json.loads(path.read_text())
        path.write_text(json.dumps(_settled(model, body, kept) if model else _spoiled(body, kept)))
    records = root / "records.jsonl"
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    records.write_text("".join(json.dumps(_settled(Record, line, kept)) + "\n" for line in lines))
    (root / "plan.yaml").write_text(TEXT)


def _spoiled(value: Any, kept: frozenset[str], key: str = "") -> Any:
    if isinstance(value, dict):
        ugly = key in _FREE and key not in kept
        return {f"{name}{TEXT}" if ugly else name: _spoiled(item, kept, name) for name, item in value.items()}
    if isinstance(value, list):
        return value if key in kept and key != "hosts" else [_spoiled(item, kept, "") for item in value]
    if not isinstance(value, str) or key in kept:
        return value
    return LINES[len(value) % len(LINES)] + value


def _settled(model: type[BaseModel], body: dict[str, Any], kept: frozenset[str]) -> dict[str, Any]:
    """Return `body` with hostile text, except where the model rejects it."""
    spoiled = _spoiled(body, kept)
    if model is Run:
        for entry, original in zip(spoiled["hosts"], body["hosts"], strict=True):
            entry["name"] = original["name"]
    for _ in range(10):
        try:
            model.model_validate(spoiled)
        except ValidationError as error:
            for problem in error.errors():
                _restore(spoiled, body, problem["loc"])
        else:
            return spoiled
    raise AssertionError(f"{model.__name__} takes no hostile text")


def _restore(spoiled: Any, body: Any, place: tuple[int | str, ...]) -> None:
    for depth, part in enumerate(place, 1):
        inner = body[part] if isinstance(body, list) else body.get(part)
        if depth == len(place) or not isinstance(inner, dict | list):
            spoiled[part] = inner
            return
        spoiled, body = spoiled[part], inner
