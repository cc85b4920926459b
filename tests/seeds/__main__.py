"""Repeat published studies on this machine and write their pages: `python -m tests.seeds [NAME...]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from asct.analysis.view import open_view
from asct.registry import installed
from tests.seeds.original import names, original
from tests.seeds.page import write_page
from tests.seeds.running import measured


def main(arguments: list[str]) -> int:
    """Repeat the measurements of the given studies (default: all) and write their pages. Studies of drives need root,
    because they use loop devices."""
    parser = argparse.ArgumentParser(prog="python -m tests.seeds", description=main.__doc__)
    parser.add_argument("name", nargs="*", help=", ".join(names()))
    parser.add_argument("--run", type=Path, help="write the page of one study from this run, without measuring")
    given = parser.parse_args(arguments)
    unknown = set(given.name) - set(names())
    if unknown or (given.run and len(given.name) != 1):
        parser.error(f"name one of: {', '.join(names())}")
    for name in given.name or names():
        seed = original(name)
        with TemporaryDirectory(prefix="asct-seed-", dir="/var/tmp") as folder:
            run = given.run or measured(seed, Path(folder))
            print(write_page(name, seed, open_view(run.resolve(strict=True), installed())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
