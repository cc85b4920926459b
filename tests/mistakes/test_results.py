"""Typical mistakes with results, in copies of a results tree with two measured runs."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.running import asct
from tests.mistakes.cases import corpus, judge

pytestmark = [pytest.mark.e2e, pytest.mark.kernels, pytest.mark.fio]
PLAN = """\
plan: 1
name: good
vars: {n: 2}
benchmarks: [{id: idle, uses: noop, config: {index: "${vars.n}"}}]
profiles: {slow: {vars: {n: 3}}}
"""
GATE = """\
plan: 1
name: good
baseline: {run: golden}
benchmarks: [{id: idle, uses: noop}]
expect: [{metric: "*", versus: baseline, no_worse_than: 5%, if_missing: warn}]
"""
FIO = "fio --name=a --rw=read --size=1M --filename=data --output-format=json --output=fio.json"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two plans, their results tree and a result of fio."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "good.yaml").write_text(PLAN)
    (folder / "gate.yaml").write_text(GATE)
    for label in ("golden", "second"):
        for words in (("apply", "good.yaml"), ("results", "label", "latest", label)):
            ended = asct(*words, cwd=folder)
            assert ended.code == 0, ended.err
    subprocess.run(FIO.split(), cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", corpus("results"))
def test_the_message_leads_from_the_mistake_to_a_fix_that_works(tree: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "here"
    shutil.copytree(tree, folder, symlinks=True)
    first, second = (str((folder / "results/good" / label).readlink()) for label in ("golden", "second"))
    case = corpus("results", first=first, second=second)[name]
    call = partial(asct, cwd=folder, env={"COLUMNS": "80"})
    for words in case.before:
        assert call(*words.split()).code == 0
    subprocess.run(case.shell, shell=True, check=True, cwd=folder / "results/good" / first)
    judge(case, call, folder)
