"""Sweep algebra: (product of the axes x zips), kept by `where`, minus `exclude`, plus `include`. Pure; values only.

Nothing here is made before it is counted: `combinations` of an axis of 10^12 values costs one multiplication.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asct.planner.canonical import frozen_key

Row = tuple[Any, ...]
Where = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Axis:
    """Settings that move together: one name, or those of a zip. Each row has a value per name."""

    names: tuple[str, ...]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Rule:
    """An `exclude` (or `at`): matches a row whose values equal all of `values`, compared in the setting's own type."""

    values: Mapping[str, Any]

    def positions(self, names: Sequence[str]) -> tuple[tuple[int, Any], ...]:
        """(column, comparable value) pairs."""
        return tuple((names.index(name), frozen_key(value)) for name, value in self.values.items())


@dataclass(frozen=True, slots=True)
class Expansion:
    """The rows that stay, in order, and what each rule did: `matched[i]` rows were taken out by exclude i.

    `dropped_by_where` says for each exclude whether it would have matched a row that `where` drops anyway.
    """

    names: tuple[str, ...]
    rows: list[Row]
    matched: list[int]
    dropped_by_where: list[bool]


def names_of(axes: Sequence[Axis]) -> tuple[str, ...]:
    """All swept names in order."""
    return tuple(itertools.chain.from_iterable(axis.names for axis in axes))


def combinations(axes: Sequence[Axis]) -> int:
    """How many rows the product has; 1 for no axes."""
    return math.prod(len(axis.rows) for axis in axes)


def product(axes: Sequence[Axis]) -> Iterator[Row]:
    """Rows of the product, the last axis moving fastest."""
    for parts in itertools.product(*(axis.rows for axis in axes)):
        yield tuple(itertools.chain.from_iterable(parts))


def expand(axes: Sequence[Axis], where: Where | None, excludes: Sequence[Rule]) -> Expansion:
    """The product, kept by `where`, minus `excludes`. What `where` raises passes through."""
    names = names_of(axes)
    rules = [rule.positions(names) for rule in excludes]
    matched, dropped = [0] * len(rules), [False] * len(rules)
    rows: list[Row] = []
    for row in product(axes):
        hits = [index for index, rule in enumerate(rules) if _matches(row, rule)]
        if where is not None and not where(dict(zip(names, row, strict=True))):
            for index in hits:
                dropped[index] = True
            continue
        for index in hits:
            matched[index] += 1
        if not hits:
            rows.append(row)
    return Expansion(names, rows, matched, dropped)


def _matches(row: Row, rule: tuple[tuple[int, Any], ...]) -> bool:
    return all(frozen_key(row[column]) == value for column, value in rule)
