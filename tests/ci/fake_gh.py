"""A fake of GitHub's program `gh` for tests, which implements only the calls that the workflows make. It needs no
network.

FAKE_GH is the path of a folder: comments.json contains the comments of the pull request, pulls.json the open pull
requests, and artifacts/<name>/ the artifacts. If FAKE_GH_READ_ONLY is set, the program refuses to write, as GitHub does
for the token of a fork.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

HOME = Path(os.environ["FAKE_GH"])


def main() -> None:
    print("fake gh:", *sys.argv[1:], file=sys.stderr)
    kind, *rest = sys.argv[1:]
    {"api": api, "run": run}[kind](rest)


def api(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("endpoint")
    parser.add_argument("--method", default="GET")
    parser.add_argument("--paginate", action="store_true")
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--jq")
    parser.add_argument("--field", action="append", default=[])
    parser.add_argument("--raw-field", action="append", default=[])
    given = parser.parse_args(arguments)
    if given.method == "GET":
        name = "pulls" if given.endpoint.endswith("/pulls") else "comments"
        show(json.loads((HOME / f"{name}.json").read_text()), given.jq)
        return
    if os.environ.get("FAKE_GH_READ_ONLY"):
        refuse("gh: Resource not accessible by integration (HTTP 403)")
    comments: list[dict[str, Any]] = json.loads((HOME / "comments.json").read_text())
    body = Path(given.field[0].removeprefix("body=@")).read_text()
    if given.method == "POST":
        comments.append({"id": 1000 + len(comments), "user": {"login": "github-actions[bot]"}, "body": body})
    else:
        [changed] = [one for one in comments if given.endpoint.endswith(f"/{one['id']}")]
        changed["body"] = body
    (HOME / "comments.json").write_text(json.dumps(comments))


def run(arguments: list[str]) -> None:
    if arguments[0] == "list":
        runs = [{"databaseId": 300}] if (HOME / "artifacts" / "asct-baseline").is_dir() else []
        show(runs, arguments[arguments.index("--jq") + 1])
        return
    source = HOME / "artifacts" / arguments[arguments.index("--name") + 1]
    if not source.is_dir():
        refuse("no artifact matches any of the names or patterns provided")
    shutil.copytree(source, arguments[arguments.index("--dir") + 1], dirs_exist_ok=True)


def show(document: Any, query: str | None) -> None:
    subprocess.run(["jq", "-r", query or "."], input=json.dumps(document), text=True, check=True)


def refuse(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise SystemExit(1)


if __name__ == "__main__":
    main()
