"""What a published study shows: its tables, figures and stated facts, as data in tests/seeds/NAME.yaml.

Only facts are carried over: names, numbers and their places. Each table and figure names its counterpart in the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

FOLDER: Final = Path(__file__).parent
Cell = str | float | int


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Entry(_Strict):
    """A benchmark of the plan: how many points it has, and the values of its swept settings in order."""

    benchmark: str
    points: int = 1
    sweep: Mapping[str, Sequence[Cell]] = Field(default_factory=dict)


class OriginalTable(_Strict):
    """A table of the original. `table` is the slug of its counterpart among the tables of the plan's `entry`.

    `keys` are the columns that name a row; without any, the rows are in the same order in both. Without `rows`, the
    original describes the table but does not show it. `renamed` maps columns
    of the original to ours, and `where` selects some of our rows by the text of a cell. `absent` lists columns that
    have no counterpart on any machine. `more` also shows our rows that the original does not have.
    """

    title: str
    place: str
    entry: str
    table: str
    columns: Sequence[str] = ()
    """Without columns, our table is shown whole."""
    keys: Sequence[str] = ()
    renamed: Mapping[str, str] = Field(default_factory=dict)
    where: Mapping[str, str] = Field(default_factory=dict)
    absent: Sequence[str] = ()
    nodes: int = 1
    flag: str = ""
    """The CPU flag (/proc/cpuinfo) without which a machine cannot measure the table; empty for any machine."""
    more: bool = True
    rows: Sequence[Sequence[Cell | None]] = ()
    why: str = ""
    """What differs between the two, and why."""

    @model_validator(mode="after")
    def _rectangular(self) -> OriginalTable:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.title}: every row needs {len(self.columns)} cells")
        known = {*self.keys, *self.renamed, *self.absent} - {*self.columns}
        if known:
            raise ValueError(f"{self.title}: no column {sorted(known)}")
        return self

    def ours(self, column: str) -> str:
        """The title of our column for one of the original."""
        return self.renamed.get(column, column)


class OriginalFigure(_Strict):
    """A figure of the original. `figure` is the slug of its counterpart; several may have the same one, with panels.

    `says` are the facts that the original states about it. `cpus` is the least number of CPUs that it needs.
    """

    title: str
    place: str
    entry: str
    figure: str
    says: str = ""
    why: str = ""
    cpus: int = 1
    drawn: bool = True
    """Whether the page contains our picture, or only its name."""


class Drive(_Strict):
    """A loop device in place of the drive: its size, and the limits of the kernel's block throttle (riops, wiops,
    rbps, wbps)."""

    mib: int
    limits: Mapping[str, int] = Field(default_factory=dict)


class Fact(_Strict):
    """A fact about the machine of the original. `ours` is its label in our reports; `only` says which hosts have it."""

    name: str
    value: str
    ours: str
    only: str = ""


class Original(_Strict):
    """A study: its source, the machine that it measured, and what it shows."""

    title: str
    source: str
    machine: str
    plan: str
    """The plan in plans/, without its ending."""
    profile: str = "quick"
    drives: Sequence[Drive] = ()
    features: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    """What the plan of the run states about the drives (`report: features:`)."""
    shorter: Sequence[str] = ()
    """Further words for `asct apply`, with which a test measures less than the page shows."""
    differs: Sequence[str]
    """What differs throughout, and why."""
    entries: Mapping[str, Entry]
    facts: Sequence[Fact] = ()
    tables: Sequence[OriginalTable] = ()
    figures: Sequence[OriginalFigure] = ()


class _Loader(yaml.SafeLoader):
    """Keeps numbers with a point as they are written, since 153.10 has been rounded to two digits."""


_Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: node.value)


def names() -> list[str]:
    """The studies, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def original(name: str) -> Original:
    """Read tests/seeds/NAME.yaml. Raises ValidationError, which names the place of what is wrong."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    document: Any = yaml.load(text, Loader=_Loader)
    return Original.model_validate(document)
