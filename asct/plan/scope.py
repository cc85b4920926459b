"""The names that a template may read: `vars`, `host`, `needs`, `plan`, and `env` with the variables listed in
`inputs`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from asct.plan.model import REJECTED, Gap, HostSpec, Node, Plan
from asct.values.suggest import did_you_mean, nearest

ROOTS = ("vars", "host", "needs", "plan", "env")
_HOST_FIELDS = ("name", "transport", "address", "port", "user", "workdir")


class UndefinedError(Exception):
    """Raised for an undefined path, with a message and a hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Scope(NamedTuple):
    """The names available to a template. `needs` contains the aliases. `host` and `needs` are None where templates
    cannot read them.

    If `environment` is None, the environment of the process is used. Only the names in `inputs` can be read. `hidden`
    contains the paths that an error hides (`host.labels.rack`); these paths and those below them are not treated as
    undefined.
    """

    vars: Mapping[str, Node] = {}
    host: HostSpec | None = None
    needs: Collection[str] | None = None
    plan: Mapping[str, str] = {}
    inputs: Collection[str] = ()
    environment: Mapping[str, str] | None = None
    hidden: Collection[str] = ()

    def lookup(self, path: str) -> Any:
        """Return the value of a path, or REJECTED if an error hides it. For a path in `needs`, only check the alias and
        return None.

        Raises UndefinedError if the path is undefined.
        """
        try:
            return self._found(path)
        except UndefinedError:
            if any(f"{path}.".startswith(f"{name}.") for name in self.hidden):
                return REJECTED
            raise

    def _found(self, path: str) -> Any:
        root, *rest = path.split(".")
        if root not in ROOTS:
            hint = did_you_mean(root, ROOTS, f"a path starts with {', '.join(ROOTS[:-1])}")
            if root in self.vars:
                hint = f"did you mean `vars.{path}`?"
            raise UndefinedError(f"`{path}` is not defined", hint)
        if not rest:
            raise UndefinedError(f"`{root}` is not a value", f"add a name: `{root}.name`")
        readers = {
            "vars": self._vars, "host": self._host, "needs": self._needs, "plan": self._plan, "env": self._env,
        }  # fmt: skip
        return readers[root](path, rest)

    def _vars(self, path: str, rest: list[str]) -> Any:
        if rest[0] not in self.vars:
            near = nearest(rest[0], self.vars)
            hint = f"did you mean `{'.'.join(('vars', near, *rest[1:]))}`?" if near else "add it under `vars`"
            raise UndefinedError(f"`{path}` is not defined", hint)
        return _descend(self.vars[rest[0]], path, rest[1:])

    def _host(self, path: str, rest: list[str]) -> Any:
        if self.host is None:
            raise UndefinedError(
                f"`{path}` is not available here",
                "`host` is available in `config`, in `sweep` and in the `vars` of hosts",
            )
        first, *names = rest
        if (first == "vars" and names) or (first == "labels" and len(names) == 1):
            known: Mapping[str, Any] = getattr(self.host, first)
            if names[0] not in known:
                hint = did_you_mean(names[0], known, f"add it under `{first}` of host `{self.host.name}`")
                raise UndefinedError(f"`{path}` is not defined for host `{self.host.name}`", hint)
            return known[names[0]] if first == "labels" else _descend(known[names[0]], path, names[1:])
        if first in _HOST_FIELDS and not names:
            return getattr(self.host, first)
        raise UndefinedError(f"`{path}` is not defined", did_you_mean(first, (*_HOST_FIELDS, "vars", "labels")))

    def _needs(self, path: str, rest: list[str]) -> Any:
        if self.needs is None:
            raise UndefinedError(f"`{path}` is not available here", "results of `needs` are available only in `config`")
        if rest[0] not in self.needs:
            hint = did_you_mean(rest[0], self.needs, f"add `needs: {{{rest[0]}: BENCHMARK}}`")
            raise UndefinedError(f"`{rest[0]}` is not an alias defined in `needs`", hint)
        if len(rest) < 2:
            raise UndefinedError(f"`{path}` is not a value", f"add the name of a result: `{path}.dram.optimum_size`")
        return None

    def _plan(self, path: str, rest: list[str]) -> Any:
        name = ".".join(rest)
        if name not in self.plan:
            raise UndefinedError(f"`{path}` is not defined", did_you_mean(name, self.plan))
        return self.plan[name]

    def _env(self, path: str, rest: list[str]) -> Any:
        name = ".".join(rest)
        if name not in self.inputs:
            hint = f"add it to `inputs`: `inputs: [{', '.join([*self.inputs, name])}]`"
            raise UndefinedError(f"the plan does not list `{name}` under `inputs`", hint)
        environment = os.environ if self.environment is None else self.environment
        if name not in environment:
            raise UndefinedError(
                f"the environment variable `{name}` is not set", f"set it for the command: `{name}=... asct ...`"
            )
        return environment[name]


def scope_of(plan: Plan, host: HostSpec | None = None, needs: Collection[str] | None = None) -> Scope:
    """Return the scope of a loaded plan, for one host if `host` is set."""
    fields = {"name": plan.name, "description": plan.description}
    return Scope(plan.vars, host, needs, fields, plan.inputs, hidden=hidden_names(plan.gaps, host))


def hidden_names(gaps: Iterable[Gap], host: HostSpec | None = None) -> tuple[str, ...]:
    """Return the template paths that are unknown because of errors: paths in `vars` and `env`, and paths of one host
    (`host.vars`)."""
    whole = {("vars",): "vars", ("inputs",): "env"}
    found = [whole[gap] for gap in gaps if gap in whole]
    if host is not None:
        found += [] if host.name else ["host"]
        inside = [gap[2:] for gap in gaps if gap[:1] == ("hosts",) and gap[1:2] in ((), (host.name,))]
        found += [".".join(("host", *names)) for names in inside]
    return tuple(found)


def _descend(node: Node, path: str, names: list[str]) -> Any:
    for name in names:
        if node.value is REJECTED:
            return REJECTED
        if not isinstance(node.value, dict):
            raise UndefinedError(f"`{path}` is not defined", f"the value before `.{name}` is not a map")
        if name not in node.value:
            raise UndefinedError(f"`{path}` is not defined", did_you_mean(name, node.value))
        node = node.value[name]
    return node.value if isinstance(node.value, list | dict) else node.plain()
