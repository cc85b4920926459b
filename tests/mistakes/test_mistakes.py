"""Typical mistakes in plans and options: each message states the place, the cause and a fix, and the fix works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Asct
from tests.export.sample import Sample, write_sample
from tests.mistakes.cases import GOOD, corpus, judge

CASES = corpus("plans") | corpus("options")


@pytest.mark.parametrize("name", CASES)
def test_the_message_leads_from_the_mistake_to_a_fix_that_works(asct: Asct, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    (tmp_path / "good.yaml").write_text(GOOD)
    for tree in ("results", "other"):
        write_sample(tmp_path / tree, Sample(quiet=True))
    case.prepare(tmp_path)
    for words in case.before:
        assert asct(*words.split()).code == 0
    judge(case, asct, tmp_path)


def test_the_corpus_covers_plans_options_hosts_and_results() -> None:
    sizes = {name: len(corpus(name)) for name in ("plans", "options", "hosts", "results")}
    assert min(sizes.values()) >= 8 and sum(sizes.values()) >= 60
