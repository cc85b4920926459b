"""The composite actions in the repository: their steps are run in a shell, with events as recorded from GitHub."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.ci.runner import EXPRESSION, Job, github, load

ROOT = Path(__file__).parents[2]
EVENTS = Path(__file__).parent / "events"
ACTION = load((ROOT / "action.yml").read_text())
UPLOAD = "actions/upload-artifact@v4"


def run_action(
    repository: Path, programs: Path, hub: Path, event: str = "pull_request", inputs: dict[str, str] | None = None,
    **environment: str,
) -> tuple[Job, int]:  # fmt: skip
    """Run action.yml as a step of a job, and set its outputs."""
    context, variables = github(EVENTS / f"{event}.json", repository, FAKE_GH=str(hub), **environment)
    variables["PATH"] = f"{programs}:{os.environ['PATH']}"
    replaced = {"program": str(programs / "asct"), "arguments": "--wait 5m", **(inputs or {})}
    job = Job(repository, variables, {"github": context}, actions={"./": (ROOT, replaced)})
    status = job.run_steps([{"uses": "./", "id": "asct", "with": {"plan": "plans/gate.yaml"}}])
    job.contexts["outputs"] = job.contexts["steps"]["asct"]["outputs"]
    return job, status


def comments(hub: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((hub / "comments.json").read_text())
    return found


def test_a_gate_that_holds_is_green_and_comments_once(repository: Path, programs: Path, hub: Path) -> None:
    before = comments(hub)
    job, status = run_action(repository, programs, hub, inputs={"comment": "true"})
    assert status == 0, job.log
    assert job.contexts["summary"].startswith("# gate\n\n")
    outputs = job.contexts["outputs"]
    run = repository / outputs["run"]
    assert (outputs["exit-code"], outputs["program"]) == ("0", str(programs / "asct"))
    assert (repository / outputs["report"]).is_file() and (run / "junit.xml").is_file()
    assert job.used[UPLOAD] == {"name": "asct", "path": outputs["run"]}
    *kept, own = comments(hub)
    assert kept == before
    assert own["body"] == (run / "comment.md").read_text()
    assert "[artifacts](https://github.com/octo/bench/actions/runs/301)" in own["body"]

    (repository / "plans" / "gate.yaml").write_text(
        (repository / "plans" / "gate.yaml").read_text().replace("max: 1h", "max: 1 ns")
    )
    job, status = run_action(repository, programs, hub, inputs={"comment": "true"})
    assert (status, job.contexts["outputs"]["exit-code"]) == (1, "1")
    assert "::error file=plans/gate.yaml,line=5,title=expectation failed%3A idle.elapsed::" in job.log
    [*kept, again] = comments(hub)
    assert kept == before and again["id"] == own["id"], "the comment was replaced"
    assert "❌ **Both expectations failed**" in again["body"]


def test_a_pull_request_from_a_fork_gets_a_notice_instead_of_a_comment(
    repository: Path, programs: Path, hub: Path
) -> None:
    before = comments(hub)
    job, status = run_action(repository, programs, hub, inputs={"comment": "true"}, FAKE_GH_READ_ONLY="1")
    assert status == 0 and comments(hub) == before
    assert "::notice title=asct::No comment was posted: the token may not write" in job.log


def test_a_runner_without_gh_gets_a_warning(repository: Path, programs: Path, hub: Path) -> None:
    script = next(step for step in ACTION["runs"]["steps"] if step["name"].startswith("Comment"))
    needed = programs / "few"
    needed.mkdir()
    for name in ("bash", "head"):
        (needed / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        ["bash", "-c", script["run"]], env={"PATH": str(needed), "GITHUB_ACTION_PATH": str(ROOT)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "::warning title=asct::No comment was posted, because gh is not" in done.stdout


@pytest.mark.parametrize(("event", "inputs"), [("schedule", {"comment": "true"}), ("pull_request", {})])
def test_without_a_pull_request_or_consent_nothing_is_posted(
    repository: Path, programs: Path, hub: Path, event: str, inputs: dict[str, str]
) -> None:
    job, status = run_action(repository, programs, hub, event, {**inputs, "artifact": ""})
    assert status == 0 and "fake gh" not in job.log
    assert set(job.used) == {"./"}


def test_an_invalid_plan_is_red_and_has_no_run(repository: Path, programs: Path, hub: Path) -> None:
    (repository / "plans" / "gate.yaml").write_text("plan: 1\nname: gate\nbenchmarks: [nop]\n")
    job, status = run_action(repository, programs, hub, inputs={"comment": "true"})
    assert status == 2
    assert "::error file=plans/gate.yaml,line=3,col=" in job.log
    assert (job.contexts["outputs"]["run"], job.contexts["outputs"]["report"]) == ("", "")
    assert UPLOAD not in job.used and "fake gh" not in job.log


def test_inputs_reach_asct_and_no_shell(repository: Path, programs: Path, hub: Path) -> None:
    plan = repository / "plans" / "a $(touch injected); b.yaml"
    (repository / "plans" / "gate.yaml").rename(plan)
    job, status = run_action(
        repository, programs, hub,
        inputs={"plan": str(plan.relative_to(repository)), "results": "out put", "baseline": "$(touch injected)",
                "arguments": "--wait 5m\n  --log-file `touch${IFS}injected`"},
    )  # fmt: skip
    assert not (repository / "injected").exists()
    assert status == 0, job.log
    document = json.loads((repository / job.contexts["outputs"]["run"] / "run.json").read_text())
    assert document["plan"] and (repository / "`touch${IFS}injected`").is_file()
    assert job.contexts["outputs"]["run"].startswith("out put/")


def test_asct_is_installed_from_the_action(repository: Path, programs: Path, hub: Path) -> None:
    """The interpreter is a fake. It creates an environment whose pip only prints what it was asked to install."""
    fake = programs / "python"
    fake.write_text(
        '#!/bin/sh\n[ "$1 $2" = "-m venv" ] || exit 9\nmkdir -p "$3/bin"\n'
        'printf \'#!/bin/sh\\necho "fake pip: $*"\\n\' > "$3/bin/python"\n'
        f'ln -s {programs}/asct "$3/bin/asct"\nchmod +x "$3/bin/python"\n'
    )
    fake.chmod(0o755)
    job, status = run_action(repository, programs, hub, inputs={"program": "", "python": str(fake)})
    assert status == 0, job.log
    assert f"fake pip: -m pip install --quiet {ROOT}\n" in job.log
    assert job.contexts["outputs"]["program"].endswith(".temp/asct/bin/asct")


@pytest.mark.parametrize("path", [ROOT / "action.yml", ROOT / "comment" / "action.yml"])
def test_an_action_is_composite_and_executes_no_expression(path: Path) -> None:
    found = load(path.read_text())
    assert set(found) <= {"name", "description", "inputs", "outputs", "runs"}
    assert found["runs"]["using"] == "composite"
    assert all(spec["description"] for spec in [*found["inputs"].values(), *found.get("outputs", {}).values()])
    used = {name for name in EXPRESSION.findall(path.read_text()) if name.startswith("inputs.")}
    assert {name.removeprefix("inputs.") for name in used} <= set(found["inputs"])
    for step in found["runs"]["steps"]:
        if "run" in step:
            assert step["shell"] == "bash" and "${{" not in step["run"]
        else:
            assert step["uses"].rpartition("@")[2].startswith("v")
