"""The files in docs/ci.md: their keys exist, and their shell steps are run with the fake programs gh and curl."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asct.cli.app import run as asct
from tests.ci.runner import Job, github, load

ROOT = Path(__file__).parents[2]
EVENTS = Path(__file__).parent / "events"
BLOCKS = {
    text.splitlines()[0].removeprefix("# "): text
    for text in re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE | re.DOTALL)
}
WORKFLOWS = sorted(name for name in BLOCKS if name.startswith(".github/"))
STEPS = sorted(name for name in BLOCKS if name.startswith("steps: "))
GITLAB = load(BLOCKS[".gitlab-ci.yml"])
PLAN = """plan: 1
name: gate
benchmarks: [{id: idle, uses: noop}]
expect:
  - {metric: "*", versus: baseline, no_worse_than: 1000000000%, if_missing: warn}
baseline: {run: golden}
"""
"""A plan whose runs can all become the baseline. On a busy machine, a point may take more than a hundred times as long
as in the run before."""
SHA = json.loads((EVENTS / "workflow_run.json").read_text())["workflow_run"]["head_sha"]

# docs.github.com, "Workflow syntax for GitHub Actions"
TOP = {"name", "on", "permissions", "concurrency", "jobs", "env", "defaults", "run-name"}
JOB = {"name", "runs-on", "timeout-minutes", "permissions", "steps", "if", "needs", "env", "strategy", "concurrency"}
STEP = {"name", "id", "if", "uses", "with", "run", "shell", "env", "working-directory", "continue-on-error"}
SCOPES = {"actions", "contents", "pull-requests"}
# docs.gitlab.com, "CI/CD YAML syntax reference"
KEYWORDS = {
    "stage", "tags", "timeout", "resource_group", "before_script", "script", "artifacts", "extends", "rules", "needs",
    "allow_failure", "image",
}  # fmt: skip


@pytest.fixture
def gate(repository: Path) -> Path:
    """Return the repository with a plan that has a baseline, like the plan in docs/ci.md."""
    (repository / "plans" / "gate.yaml").write_text(PLAN)
    return repository


def steps_of(name: str) -> list[dict[str, Any]]:
    found: Any = load(BLOCKS[name])
    if name in STEPS:
        steps: list[dict[str, Any]] = found
        return steps
    [job] = found["jobs"].values()
    return list(job["steps"])


def job_for(event: str, folder: Path, programs: Path, hub: Path, **environment: str) -> Job:
    context, variables = github(EVENTS / f"{event}.json", folder, FAKE_GH=str(hub), **environment)
    variables["PATH"] = f"{programs}:{os.environ['PATH']}"
    own = {"program": str(programs / "asct"), "arguments": "--wait 5m"}
    actions = {"OWNER/asct@REF": (ROOT, own), "OWNER/asct/comment@REF": (ROOT / "comment", {})}
    return Job(folder, variables, {"github": context}, actions=actions)


def test_the_documents_contain_the_files_that_they_promise() -> None:
    assert [f".github/workflows/{name}.yml" for name in ("comment", "gate", "nightly")] == WORKFLOWS
    assert STEPS == ["steps: get the baseline", "steps: keep the baseline (nightly run only)"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_keys_of_a_workflow_are_known_and_its_permissions_are_small(name: str) -> None:
    found = load(BLOCKS[name])
    assert set(found) <= TOP and found["permissions"] == {}
    for job in found["jobs"].values():
        assert set(job) <= JOB and {"runs-on", "steps", "permissions"} <= set(job)
        assert set(job["permissions"]) <= SCOPES
        assert "write" not in {job["permissions"].get("contents"), job["permissions"].get("actions")}


@pytest.mark.parametrize("name", [*WORKFLOWS, *STEPS])
def test_a_step_executes_no_expression_and_names_a_version(name: str, tmp_path: Path) -> None:
    for step in steps_of(name):
        assert set(step) <= STEP and ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert re.search(r"@(v\d+|REF)$", step["uses"])
            continue
        assert step["shell"] == "bash" and "${{" not in step["run"]
        script = tmp_path / "script.sh"
        script.write_text(f"#!/bin/bash -e\n{step['run']}")
        done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
        assert done.stdout == ""


def test_the_plan_of_the_gate_is_valid(gate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (gate / "plans" / "gate.yaml").write_text(BLOCKS["plans/gate.yaml"])
    monkeypatch.chdir(gate)
    assert asct(("check", "plans/gate.yaml", "-q")) == 0


def test_a_nightly_run_becomes_the_baseline_of_pull_requests(gate: Path, programs: Path, hub: Path) -> None:
    night = job_for("schedule", gate, programs, hub)
    assert night.run_steps(steps_of(".github/workflows/nightly.yml")) == 0, night.log
    assert night.used["actions/upload-artifact@v4"]["name"] == "asct-baseline"
    kept = hub / "artifacts" / "asct-baseline"
    kept.mkdir(parents=True)
    (gate / night.used["actions/upload-artifact@v4"]["path"]).rename(kept / "baseline.tar")
    golden = night.contexts["steps"]["asct"]["outputs"]["run"]
    shutil.rmtree(gate / "results")

    request = job_for("pull_request", gate, programs, hub)
    assert request.run_steps(steps_of(".github/workflows/gate.yml")) == 0, request.log
    assert request.used["OWNER/asct@REF"]["comment"] == "true"
    run = json.loads((gate / request.used["actions/upload-artifact@v4"]["path"] / "run.json").read_text())
    assert {one["baseline"]["run"] for one in run["verdicts"]} == {f"gate/{Path(golden).name}"}
    assert "### Changes from the baseline" in json.loads((hub / "comments.json").read_text())[-1]["body"]

    again = job_for("schedule", gate, programs, hub)
    assert again.run_steps(steps_of(".github/workflows/nightly.yml")) == 0, again.log
    assert (gate / "results" / "gate" / "golden").resolve().name != Path(golden).name


def test_without_a_baseline_a_gate_warns(gate: Path, programs: Path, hub: Path) -> None:
    job = job_for("pull_request", gate, programs, hub)
    assert job.run_steps(steps_of(".github/workflows/gate.yml")) == 0, job.log
    assert "::warning title=asct::No nightly run has succeeded yet" in job.log
    assert "::warning file=plans/gate.yaml,line=5,title=expectation unknown" in job.log


def test_a_branch_keeps_the_baseline(gate: Path, programs: Path, hub: Path, tmp_path: Path) -> None:
    origin = tmp_path / "origin" / "octo" / "bench"
    subprocess.run(["git", "init", "--quiet", "--bare", origin], check=True)
    get, keep = (steps_of(name) for name in STEPS)
    measure = {"uses": "OWNER/asct@REF", "id": "asct", "with": {"plan": "plans/gate.yaml"}}
    names = []
    for count in range(2):
        shutil.rmtree(gate / "results", ignore_errors=True)
        job = job_for("schedule", gate, programs, hub, GITHUB_SERVER_URL=f"file://{tmp_path}/origin")
        assert job.run_steps([*get, measure, *keep]) == 0, job.log
        assert ("There is no branch asct-baseline yet" in job.log) == (count == 0)
        names.append(Path(job.contexts["steps"]["asct"]["outputs"]["run"]).name)
        run = json.loads((gate / "results" / "gate" / names[-1] / "run.json").read_text())
        found = {one["baseline"]["run"] for one in run["verdicts"] if one["baseline"]}
        assert found == ({f"gate/{names[0]}"} if count else set())
    listed = subprocess.run(
        ["git", "-C", origin, "show", "asct-baseline:gate/golden"], check=True, capture_output=True, text=True
    ).stdout
    assert Path(listed.strip()).name == names[-1]


def test_a_comment_on_a_pull_request_from_a_fork_is_posted_by_the_second_workflow(
    gate: Path, programs: Path, hub: Path
) -> None:
    kept = hub / "artifacts" / "asct"
    kept.mkdir(parents=True)
    (kept / "comment.md").write_text("<!-- asct: gate -->\n## gate\n")
    pulls = [{"number": 31, "head": {"sha": "0" * 40}}, {"number": 32, "head": {"sha": SHA}}]
    (hub / "pulls.json").write_text(json.dumps(pulls))
    job = job_for("workflow_run", gate, programs, hub)
    [only] = load(BLOCKS[".github/workflows/comment.yml"])["jobs"].values()
    assert job.holds(only["if"])
    assert job.run_steps(only["steps"]) == 0, job.log
    assert "--raw-field head=visitor:copy" in job.log
    assert job.used["OWNER/asct/comment@REF"]["number"] == "32"
    assert json.loads((hub / "comments.json").read_text())[-1]["body"] == "<!-- asct: gate -->\n## gate\n"
    (kept / "comment.md").write_text("@everyone look\n")
    assert job.run_steps(only["steps"]) != 0, "a text without the marker is not posted"


def test_the_keywords_of_gitlab_are_known() -> None:
    stages = GITLAB["stages"]
    jobs = {name: job for name, job in GITLAB.items() if name != "stages"}
    assert set(jobs) == {".measure", "gate", "nightly", "comment"}
    for job in jobs.values():
        assert set(job) <= KEYWORDS
        assert job.get("extends", ".measure") in jobs and job.get("stage", "measure") in stages
    assert GITLAB[".measure"]["artifacts"]["reports"] == {
        "junit": "report/junit.xml", "codequality": "report/gl-code-quality-report.json",
    }  # fmt: skip


def run_gitlab(gate: Path, programs: Path, origin: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the measuring job with an installed asct."""
    shutil.rmtree(gate / "report", ignore_errors=True)
    (gate / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    (gate / ".venv" / "bin" / "asct").unlink(missing_ok=True)
    (gate / ".venv" / "bin" / "asct").symlink_to(programs / "asct")
    variables = {
        "GITLAB_CI": "true", "CI_PROJECT_DIR": str(gate), "CI_PIPELINE_SOURCE": source, "ASCT_PUSH_TOKEN": "glpat-fake",
        "CI_JOB_URL": "https://gitlab.example/o/r/-/jobs/5", "CI_PROJECT_URL": f"file://{origin}",
        "CI_REPOSITORY_URL": f"file://{origin}.git",
    }  # fmt: skip
    script = ["bash", "-eo", "pipefail", "-c", "\n".join(GITLAB[".measure"]["script"])]
    return subprocess.run(
        script, cwd=gate, env={**os.environ, **variables}, check=False, text=True, capture_output=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_jobs_of_gitlab_measure_and_keep_the_baseline(gate: Path, programs: Path, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    subprocess.run(["git", "init", "--quiet", "--bare", f"{origin}.git"], check=True)
    golden = ""
    for source in ("schedule", "merge_request_event", "schedule"):
        done = run_gitlab(gate, programs, origin, source)
        assert done.returncode == 0, done.stderr
        assert ("There is no baseline yet" in done.stdout) == (not golden)
        names = {"report.html", "summary.md", "comment.md", "junit.xml", "gl-code-quality-report.json"}
        assert {path.name for path in (gate / "report").glob("*")} == names
        assert "https://gitlab.example/o/r/-/jobs/5/artifacts/browse" in (gate / "report" / "comment.md").read_text()
        run = json.loads((gate / "results" / "gate" / "latest" / "run.json").read_text())
        assert {one["baseline"]["run"] for one in run["verdicts"] if one["baseline"]} == ({golden} if golden else set())
        if source == "schedule":
            golden = f"gate/{run['run']}"
        else:
            assert (gate / "results" / "gate" / "golden").resolve().name == Path(golden).name


def test_an_invalid_plan_ends_a_job_of_gitlab_without_reports(gate: Path, programs: Path, tmp_path: Path) -> None:
    (gate / "plans" / "gate.yaml").write_text("plan: 1\n")
    done = run_gitlab(gate, programs, tmp_path / "origin", "merge_request_event")
    assert done.returncode == 2 and not (gate / "report").exists()


def test_the_comment_of_gitlab_replaces_that_of_an_earlier_pipeline(gate: Path, programs: Path) -> None:
    notes = gate / "notes.json"
    others = [{"id": 1, "author": {"id": 3}, "body": "<!-- asct: gate -->\nof somebody"}]
    notes.write_text(json.dumps(others))
    (gate / "report").mkdir()
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}", "FAKE_GITLAB": str(notes), "ASCT_TOKEN": "glpat-fake",
        "CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_PROJECT_ID": "9", "CI_MERGE_REQUEST_IID": "4",
    }  # fmt: skip
    for text in ("first", "second"):
        (gate / "report" / "comment.md").write_text(f"<!-- asct: gate -->\n{text}\n")
        script = "\n".join(GITLAB["comment"]["script"])
        done = subprocess.run(
            ["sh", "-e", "-c", script], cwd=gate, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        *kept, own = json.loads(notes.read_text())
        assert kept == others and own["body"].endswith(f"{text}\n")
