"""The content of a published study: its tables, figures and stated facts, as data in tests/seeds/NAME.yaml.

The files contain only facts: names, numbers, and where they are in the study. Each table and figure names its
counterpart in the run.
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
    """A benchmark entry in the plan: the number of its points, and the values of its swept settings in order."""

    benchmark: str
    points: int = 1
    sweep: Mapping[str, Sequence[Cell]] = Field(default_factory=dict)


class OriginalTable(_Strict):
    """A table in the original. `table` is the slug of its counterpart among the tables of `entry` in the plan.

    `keys` are the columns that identify a row; if there are none, the rows are in the same order in both tables. If
    there are no `rows`, the original describes the table but does not show it. `renamed` maps columns of the original
    to ours, and `where` selects some of our rows by the text of a cell. `absent` lists columns that have no counterpart
    on any machine. With `more`, the page also shows those of our rows that the original does not contain.
    """

    title: str
    place: str
    entry: str
    table: str
    columns: Sequence[str] = ()
    """If empty, the page shows all columns of our table."""
    keys: Sequence[str] = ()
    renamed: Mapping[str, str] = Field(default_factory=dict)
    where: Mapping[str, str] = Field(default_factory=dict)
    absent: Sequence[str] = ()
    nodes: int = 1
    flag: str = ""
    """The CPU flag (/proc/cpuinfo) that a machine needs to measure the table; empty if any machine can measure it."""
    more: bool = True
    rows: Sequence[Sequence[Cell | None]] = ()
    why: str = ""
    """How the two tables differ, and why."""

    @model_validator(mode="after")
    def _rectangular(self) -> OriginalTable:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.title}: every row needs {len(self.columns)} cells")
        known = {*self.keys, *self.renamed, *self.absent} - {*self.columns}
        if known:
            raise ValueError(f"{self.title}: no column {sorted(known)}")
        return self

    def ours(self, column: str) -> str:
        """Return the title of our counterpart of a column in the original."""
        return self.renamed.get(column, column)


class OriginalFigure(_Strict):
    """A figure in the original. `figure` is the slug of its counterpart, which several figures share if it has panels.

    `says` contains the facts that the original states about the figure. `cpus` is the minimum number of CPUs that it
    needs.
    """

    title: str
    place: str
    entry: str
    figure: str
    says: str = ""
    why: str = ""
    cpus: int = 1
    drawn: bool = True
    """Whether the page shows our picture; otherwise, it only names our figure."""


class Drive(_Strict):
    """A loop device that replaces the drive: its size, and the limits that the Linux kernel enforces by throttling
    (riops, wiops, rbps, wbps)."""

    mib: int
    limits: Mapping[str, int] = Field(default_factory=dict)


class Fact(_Strict):
    """A fact about the machine that the original measured. `ours` is its label in our reports; `only` says which hosts
    report it."""

    name: str
    value: str
    ours: str
    only: str = ""


class Original(_Strict):
    """A study: its source, the machine that it measured, and its content."""

    title: str
    source: str
    machine: str
    plan: str
    """The path of the plan in plans/, without the extension."""
    profile: str = "quick"
    drives: Sequence[Drive] = ()
    features: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    """Properties of the drives, as stated in the plan of the run (`report: features:`)."""
    shorter: Sequence[str] = ()
    """Additional arguments for `asct apply`, with which a test measures less than the page shows."""
    differs: Sequence[str]
    """Differences that apply to the whole study, and the reasons for them."""
    entries: Mapping[str, Entry]
    facts: Sequence[Fact] = ()
    tables: Sequence[OriginalTable] = ()
    figures: Sequence[OriginalFigure] = ()


class _Loader(yaml.SafeLoader):
    """Keeps numbers with a decimal point as they are written, because 153.10 means that the number was rounded to two
    digits."""


_Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: node.value)


def names() -> list[str]:
    """Return the names of the studies in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def original(name: str) -> Original:
    """Read tests/seeds/NAME.yaml. Raises ValidationError, which contains the location of the mistake."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    document: Any = yaml.load(text, Loader=_Loader)
    return Original.model_validate(document)
