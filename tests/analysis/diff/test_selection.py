"""`--benchmarks` selects entries by id, name, alias, keyword or tag; `^` excludes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from asct.analysis.diff.selection import selected
from asct.errors import UsageError
from asct.registry import installed
from tests.analysis.diff.runs import source, value, visits

ENTRIES = {"sweep": "latency-sweep", "depth": "storage-io-depth-sweep", "deep": "storage-io-depth-sweep"}


def kept(*words: str) -> Sequence[str]:
    """Return the ids that remain in two runs after selecting with these words. The second run has no entry `deep`."""
    records = [value(visits(1.0), id=name, benchmark=benchmark) for name, benchmark in ENTRIES.items()]
    both = source("a", *records, tags={"deep": frozenset({"gate"})}), source("b", *records[:2])
    first, second = selected(both, words, installed())
    assert {record.id for record in second.records} <= {record.id for record in first.records}
    return [record.id for record in first.records]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ((), ["sweep", "depth", "deep"]),
        (("sweep",), ["sweep"]),
        (("storage-io-depth-sweep",), ["depth", "deep"]),
        (("sids",), ["depth", "deep"]),
        (("memory",), ["sweep"]),
        (("gate",), ["deep"]),
        (("^memory",), ["depth", "deep"]),
        (("storage", "^deep"), ["depth"]),
        (("all", "^storage"), ["sweep"]),
        (("sweep", "gate"), ["sweep", "deep"]),
    ],
)
def test_words_select(words: tuple[str, ...], ids: list[str]) -> None:
    assert kept(*words) == ids


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("swep",), "no benchmark, alias or keyword is named `swep` in these runs", "did you mean `sweep`?"),
        (("^noop",), "is named `noop` in these runs", "the runs contain `sweep`, `depth`, `deep`"),
        (("sweep", "^memory"), "matches `sweep ^memory` in these runs", "remove `^memory`, which"),
    ],
)
def test_a_word_that_matches_nothing_is_an_error(words: tuple[str, ...], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        kept(*words)
    (found,) = raised.value.diagnostics
    assert message in found.message and found.hint.startswith(hint)
    assert found.code == "E707"
