"""Run the shell steps of a composite action, or of a job in a GitHub workflow, as a runner does.

Expressions are evaluated only as far as action.yml and docs/ci.md use them. Actions other than our own
are not run: `used` contains their inputs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_TERM = re.compile(r"(?P<left>[\w.-]+)(?:\s*(?P<operator>==|!=)\s*(?:'(?P<text>[^']*)'|(?P<right>[\w.-]+)))?")


def load(text: str) -> dict[str, Any]:
    """Parse YAML with strings as the only scalars, so that `on` is a key."""
    found: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)
    return found


@dataclass
class Job:
    """The state of a job. `contexts` contains the contexts of expressions: github, inputs, steps and env."""

    folder: Path
    environment: Mapping[str, str]
    contexts: dict[str, Any] = field(default_factory=dict)
    used: dict[str, dict[str, str]] = field(default_factory=dict)
    """The inputs of the steps with `uses`, keyed by action."""
    actions: dict[str, tuple[Path, Mapping[str, str]]] = field(default_factory=dict)
    """The folders of the composite actions that are run, each with inputs that replace those in the workflow."""
    log: str = ""

    def value(self, path: str) -> str:
        """Return the value of a context such as `steps.measure.outputs.run`, or an empty string if it is missing."""
        found: Any = self.contexts
        for key in path.split("."):
            found = found.get(key, "") if isinstance(found, dict) else ""
        return str(found).lower() if isinstance(found, bool) else str(found)

    def text(self, template: str) -> str:
        """Return a text with its expressions replaced by their values."""
        return EXPRESSION.sub(lambda found: self.value(found[1]), template)

    def holds(self, condition: str) -> bool:
        """Return whether the condition of a step, which consists of comparisons joined with `&&`, is true."""
        return all(self._compare(part.strip()) for part in condition.split("&&"))

    def _compare(self, text: str) -> bool:
        found = _TERM.fullmatch(text)
        assert found is not None, f"the condition {text!r} is not understood"
        left = self.value(found["left"])
        if found["operator"] is None:
            return left not in ("", "false")
        right = found["text"] if found["text"] is not None else self.value(found["right"])
        return (left == right) == (found["operator"] == "==")

    def run_steps(self, steps: Sequence[Mapping[str, Any]]) -> int:
        """Run the steps until one of them fails. Return the exit status of that step, or 0."""
        for step in steps:
            if "if" in step and not self.holds(step["if"]):
                continue
            if "uses" in step:
                status = self._use(step)
                if status:
                    return status
                continue
            status = self._run(step)
            if status:
                return status
        return 0

    def _use(self, step: Mapping[str, Any]) -> int:
        given = {key: self.text(value) for key, value in step.get("with", {}).items()}
        self.used[step["uses"]] = given
        if step["uses"] not in self.actions:
            return 0
        folder, replaced = self.actions[step["uses"]]
        action = load((folder / "action.yml").read_text())
        assert set(given) <= set(action["inputs"])
        inputs = {key: spec.get("default", "") for key, spec in action["inputs"].items()} | given | dict(replaced)
        inner = Job(self.folder, {**self.environment, "GITHUB_ACTION_PATH": str(folder)},
                    {"github": self.contexts["github"], "inputs": inputs}, self.used)  # fmt: skip
        status = inner.run_steps(action["runs"]["steps"])
        self.log += inner.log
        outputs = {key: inner.text(spec["value"]) for key, spec in action.get("outputs", {}).items()}
        self.contexts.setdefault("steps", {})[step.get("id", "")] = {"outputs": outputs}
        self.contexts["summary"] = self.contexts.get("summary", "") + inner.contexts.get("summary", "")
        return status

    def _run(self, step: Mapping[str, Any]) -> int:
        files = {name: self.folder / f".{name}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV")}
        for path in files.values():
            path.write_text("")
        own = {name: self.text(value) for name, value in step.get("env", {}).items()}
        names = {name: str(path) for name, path in files.items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder, env={**self.environment, **names, **own}, check=False, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.log += done.stdout
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        self.contexts.setdefault("steps", {})[step.get("id", "")] = {"outputs": outputs}
        self.contexts["summary"] = self.contexts.get("summary", "") + files["GITHUB_STEP_SUMMARY"].read_text()
        return done.returncode


def github(event: Path, folder: Path, **more: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the context `github` and the environment of a job that was started by an event."""
    body = json.loads(event.read_text())
    repository = body["repository"]["full_name"]
    context = {"event": body, "token": "fake-token", "ref": "refs/pull/12/merge", "ref_name": "main"}
    temp = folder / ".temp"
    temp.mkdir(exist_ok=True)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "GITLAB_", "CI_"))},
        "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": repository, "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_RUN_ID": "301", "GITHUB_WORKSPACE": str(folder), "GITHUB_EVENT_PATH": str(event),
        "RUNNER_TEMP": str(temp), "CI": "true", **more,
    }  # fmt: skip
    return context, environment
