"""The files of a plan. Each file is read only once, and only if it is in the plan's folder. Diagnostics quote the text
of the files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import Node
from asct.plan.nodes import MAX_BYTES, decode, parse_yaml
from asct.resources import folder
from asct.values.error import clip
from asct.values.suggest import did_you_mean, nearest

_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class PlanFiles:
    """The files read so far. `root` is the plan's folder, and `texts` maps the name of each file to its text."""

    root: Path
    findings: Findings
    texts: dict[str, str] = field(default_factory=dict)

    def main(self, path: Path, text: str | None) -> Node | None:
        """Parse the plan itself, from its file or from `text`. Returns None after an error."""
        if text is None:
            text = self._read(path, str(path), None)
            if text is None:
                return None
        self.texts[str(path)] = text
        return parse_yaml(text, str(path), self.findings)

    def beside(self, node: Node, what: str, *, shipped: bool = False) -> tuple[str, str] | None:
        """Return the name and text of the file that a node specifies, relative to the file that contains the node, or
        None after an error.

        If `shipped` is true and there is no such file, the plan that comes with asct under this name is used instead.
        """
        inside = self._inside(node, what, shipped)
        if inside is None:
            return None
        path, name = inside
        text = self.texts.get(name) or self._read(path, name, node.span)
        if text is None:
            return None
        self.texts[name] = text
        return name, text

    def _inside(self, node: Node, what: str, shipped: bool) -> tuple[Path, str] | None:
        """Return the path and name of a file, or None after an error.

        After links are resolved, the file must be below `root` or be one of the plans that come with asct.
        """
        if not isinstance(node.value, str) or not node.value or not node.value.isprintable():
            self.findings.error("E106", f"{what} must be a file path", node.span, "write a path")
            return None
        near = Path(node.span.file).parent if node.span.file in self.texts else self.root
        path = near / node.value
        own = plans() / node.value
        if shipped and not path.exists() and own.is_file():
            path = own
        try:
            resolved, roots = path.resolve(), (self.root.resolve(), plans().resolve())
        except (OSError, RuntimeError) as problem:
            self._unreadable(node.value, problem, node.span, path)
            return None
        if not any(map(resolved.is_relative_to, roots)):
            hint = f"move the file into the plan's folder ({clip(str(self.root))})"
            self.findings.error("E116", f"`{clip(node.value)}` is outside the plan's folder", node.span, hint)
            return None
        return path, os.path.normpath(path)

    def _read(self, path: Path, name: str, span: Span | None) -> str | None:
        try:
            named_by_plan = span is not None
            if path.exists() and not path.is_file() and (named_by_plan or not _is_stream(path)):
                raise OSError(0, "it is not a file")
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as problem:
            self._unreadable(name, problem, span, path)
            return None
        return decode(data, name, self.findings)

    def _unreadable(self, name: str, problem: Exception, span: Span | None, path: Path) -> None:
        reason = str(getattr(problem, "strerror", None) or problem).lower()
        hint = "check the path" if isinstance(problem, FileNotFoundError) else "check the path and the permissions"
        own_name = Path(span.file).name if span else ""
        if name == "-":
            hint = "`/dev/stdin` reads the plan from standard input"
        elif isinstance(problem, FileNotFoundError) and (near := meant_file(name, path, _SUFFIXES, own_name)):
            hint = f"did you mean `{near}`?"
        elif span is None and not Path(name).suffix:
            own = shipped_names()
            hint = did_you_mean(name, own, f"{hint}; plans that come with asct: {', '.join(own)}")
        self.findings.error("E101", f"cannot read {clip(name)}: {reason}", span, hint)


def meant_file(text: str, path: Path, suffixes: Sequence[str] = (), excluded: str = "") -> str | None:
    """Return the path that `text` was probably meant to be, in the same form, or None if the folder of `path` contains
    no file with a similar name. If `suffixes` is set, only files with one of these suffixes are considered. A file
    named `excluded` is never considered."""
    with suppress(OSError, ValueError):
        names = [
            one.name
            for one in path.parent.iterdir()
            if one.exists() and one.suffix in (suffixes or (one.suffix,)) and one.name != excluded
        ]
        name = nearest(path.name, names)
        return None if name is None else os.path.join(os.path.dirname(text), name)  # noqa: PTH118, PTH120 - as written
    return None


def _is_stream(path: Path) -> bool:
    """Return whether a path is a pipe, as in `asct check <(generate)`, or /dev/stdin. Both are allowed only on the
    command line."""
    return path.is_fifo() or str(path) == "/dev/stdin"


def plans() -> Path:
    """Return the folder that contains the plans that come with asct."""
    return folder("plans")


def shipped(name: str) -> str:
    """Return the path of the plan that comes with asct under this name (`quickstart`). Return `name` itself if there is
    no such plan, or if a file with this name exists."""
    own = plans() / f"{name}.yaml"
    plain = not Path(name).is_absolute() and ".." not in Path(name).parts
    return str(own) if plain and not Path(name).exists() and own.is_file() else name


def shipped_names() -> list[str]:
    """Return the names of the plans that come with asct, such as `quickstart` and `seeds/asct`."""
    return sorted(str(path.relative_to(plans()).with_suffix("")) for path in plans().rglob("*.yaml"))


def path_near(node: Node, text: str) -> str:
    """Return the absolute path of a file that a host uses (`identity_file`, `known_hosts`). Relative paths are resolved
    against the folder of the file that contains them."""
    near = Path() if node.span.file.startswith("--") else Path(node.span.file).parent
    return os.path.abspath(near / os.path.expanduser(text))  # noqa: PTH100, PTH111 - resolve() would follow links
