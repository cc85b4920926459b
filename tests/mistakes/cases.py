"""The corpus of typical mistakes: its cases as data, and the score of the message that a user gets.

A case is a mistake that users make. The corpus consists of the YAML files in this folder, with these keys:

- `name`; `command`: the command line after `asct` (default: `check p.yaml`); `plan`: the content of p.yaml; `files`:
  the contents of further files; `before`: commands of asct, and then `shell`: commands of a shell, which make the
  mistake;
- `code`: the exit code (default 2); `errors`: the number of errors (default 1), since none may be a mere consequence;
  `severity`: `warning` if the mistake causes only warnings;
- `place`: where the mistake is, as FILE:LINE:COLUMN, or the option, argument, host or path that the message must name;
- `cause`: words that say why; `fix`: words that say what to do;
- the correction, which is made and must work: `swap: [OLD, NEW]` replaces OLD by NEW in the line at the place, or else
  in the command line; `do` is a command that the message contains, and `follow` one that a user would run upon reading
  `fix`. Unless there is a `fix`, the message must contain NEW;
- `then`: the exit code of the command after the correction (default 0); `adds`: a folder to which the mistaken command
  may add files. Nothing else may be added, changed or lost.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.running import Ended

WIDTH = 80
GOOD = """\
plan: 1
name: good
vars: {n: 2}
benchmarks:
  - {id: idle, uses: noop, config: {index: "${vars.n}"}, tags: [quick]}
  - {id: disk, uses: storage-fio, config: {rw: randread, block_size: 8K}}
profiles: {slow: {vars: {n: 3}}}
"""
"""The content of good.yaml, which every case finds in its folder."""


@dataclass(frozen=True)
class Case:
    """One mistake; the keys of the YAML files."""

    name: str
    place: str
    cause: str
    command: str = "check p.yaml"
    plan: str = ""
    files: Mapping[str, str] | None = None
    before: Sequence[str] = ()
    shell: str = ""
    severity: str = "error"
    code: int = 2
    errors: int = 1
    fix: str = ""
    swap: Sequence[str] = ()
    do: str = ""
    follow: str = ""
    then: int = 0
    adds: str = ""
    server: str = ""
    holder: str = ""
    paste: str = ""

    def prepare(self, folder: Path) -> None:
        """Write the files of the case."""
        for name, text in {"p.yaml": self.plan, **(self.files or {})}.items():
            if text:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")

    @property
    def words(self) -> list[str]:
        """The arguments of `asct`."""
        return shlex.split(self.command)

    def corrected(self, folder: Path) -> list[str]:
        """Make the correction `swap`, and return the arguments of the command to run then."""
        if not self.swap:
            return self.words
        old, new = self.swap
        found = re.fullmatch(r"(\S+?\.yaml):(\d+):\d+", self.place)
        if found is None and old in self.command:
            return shlex.split(self.command.replace(old, new, 1))
        file = folder / (found[1] if found else "p.yaml")
        lines = file.read_text(encoding="utf-8").split("\n")
        line = int(found[2]) - 1 if found else [old in line for line in lines].index(True)
        assert old in lines[line]
        lines[line] = lines[line].replace(old, new, 1)
        file.write_text("\n".join(lines), encoding="utf-8")
        return self.words


@dataclass(frozen=True)
class Score:
    """The score of a message about a mistake: one point each for the place, the cause and a fix."""

    place: bool
    cause: bool
    fix: bool


FULL = Score(place=True, cause=True, fix=True)


def corpus(name: str, **values: str) -> dict[str, Case]:
    """Return the cases of one file by name, in which `{first}` stands for the value `first`. A misspelled key raises
    TypeError."""
    text = (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    document: Any = yaml.safe_load(text)
    cases = {item["name"]: Case(**item) for item in document}
    assert len(cases) == len(document)
    return cases


def findings_in(text: str, severity: str = "error") -> list[str]:
    """Return each diagnostic of a severity that a command printed. What follows the diagnostics is left out."""
    blocks = re.split(r"^(?=(?:error|warning|note)\[)", text, flags=re.MULTILINE)
    return [block.split("\n\n")[0] for block in blocks if block.startswith(f"{severity}[")]


def scored(case: Case, found: Sequence[str]) -> Score:
    """Score the diagnostic that says most of the mistake."""
    errors = [" ".join(text.split()) for text in found]
    wanted = [case.fix] if case.fix else []
    wanted += [case.do] if case.do else []
    wanted += [" ".join(case.swap[1].split())] if case.swap and not case.fix else []
    scores = [
        Score(
            place=re.search(rf"{re.escape(case.place)}(?!\d)", error) is not None,
            cause=case.cause in error,
            fix=bool(wanted) and all(words in error for words in wanted),
        )
        for error in errors
    ]
    return max(scores, key=lambda score: score.place + score.cause + score.fix, default=Score(False, False, False))


def contents(folder: Path, without: str = "") -> dict[str, tuple[int, bytes]]:
    """Return the mode and content of each file below `folder`, except in the folder `without`."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if not without or not path.is_relative_to(folder / without):
            link = str(path.readlink()).encode() if path.is_symlink() else b""
            content = path.read_bytes() if path.is_file() and not link else link
            found[str(path.relative_to(folder))] = (path.lstat().st_mode, content)
    return found


def judge(case: Case, asct: Callable[..., Ended], folder: Path, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Make the mistake in `folder`, score the message, and make the correction. `asct` runs a command there, and
    `meanwhile` is what the user does elsewhere."""
    before = contents(folder)
    ended = asct(*case.words)
    found = findings_in(ended.err, case.severity)
    after = contents(folder)
    assert ended.code == case.code, ended.err
    assert scored(case, found) == FULL, ended.err
    assert len(found) == case.errors, ended.err
    wide = [line for text in found for line in text.splitlines() if len(line) > WIDTH and " " in line.strip()]
    assert len(wide) == bool(case.paste), ended.err
    kept = {
        name: what for name, what in after.items() if name in before or not (case.adds and name.startswith(case.adds))
    }
    assert kept == before
    for words in filter(None, (case.do.removeprefix("asct "), case.follow)):
        followed = asct(*shlex.split(words))
        assert findings_in(followed.err) == [], followed.err
    if case.paste:
        with (folder / case.paste).open("a", encoding="utf-8") as file:
            file.write(found[0].splitlines()[-1] + "\n")
    meanwhile()
    corrected = asct(*case.corrected(folder))
    assert corrected.code == case.then, corrected.err
    assert findings_in(corrected.err, case.severity) == []
