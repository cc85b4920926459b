"""All mutations of `make mutants` can be applied: whoever changes a line must update its mutations."""

from __future__ import annotations

import pytest

from tests.mutants.__main__ import ROOT, Mutant, declared


@pytest.mark.parametrize("mutant", declared(), ids=lambda mutant: mutant.why)
def test_a_mistake_can_be_made(mutant: Mutant) -> None:
    assert mutant.problem() == ""
    assert all((ROOT / path).exists() for path in mutant.tests)


def test_there_are_enough() -> None:
    assert len(declared()) >= 60
