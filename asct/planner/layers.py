"""Where each setting of a job comes from. Lowest first: the benchmark, plan defaults, host groups, host, entry, --set.

The sweep stands between the entry and --set; `points` lays it over what is gathered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from asct.diagnostics.suggest import did_you_mean
from asct.plan.model import Entry, Node
from asct.planner.ground import Ground
from asct.planner.model import Origin
from asct.planner.settings import Settings

CONFIG_RANK = 4
SWEEP_RANK = 5
SET_RANK = 6


@dataclass(frozen=True, slots=True)
class Given:
    """A setting that someone gave: its main name, as written, by which layer. A higher `rank` wins."""

    name: str
    spelling: str
    node: Node
    origin: Origin
    rank: int


def layered(ground: Ground, entry: Entry, host: str, settings: Settings) -> dict[str, Given]:
    """The winner of each setting that is given at all. Findings: unknown names, two spellings, groups that disagree."""
    plan = ground.plan
    given: dict[str, Given] = {}
    shared = Layer(ground, settings, strict=False)
    given |= shared.read(plan.defaults_config, "defaults", 1)
    given |= _from_groups(ground, host, shared)
    given |= shared.read(plan.host_config.get(host, {}), f"host {host}", 3)
    strict = Layer(ground, settings, strict=True)
    given |= strict.read(entry.config, "config", CONFIG_RANK)
    for override in ground.overrides:
        if override.meets(entry, settings.benchmark.name):
            given |= strict.read({override.spelling: override.node}, "--set", SET_RANK)
    return given


@dataclass(frozen=True, slots=True)
class Layer:
    """Reads one map of settings. `strict`: an unknown name is an error; else it is meant for another benchmark."""

    ground: Ground
    settings: Settings
    strict: bool

    def read(self, config: Mapping[str, Node], layer: str, rank: int) -> dict[str, Given]:
        """Settings by their main names."""
        found: dict[str, Given] = {}
        for spelling, node in config.items():
            name = self.settings.spellings.get(spelling)
            if name is None:
                if self.strict:
                    unknown_setting(self.ground, spelling, node, self.settings)
                continue
            if name in found:
                self._twice(found[name], spelling, node)
                continue
            found[name] = Given(name, spelling, node, Origin(layer, node.span), rank)
        return found

    def _twice(self, first: Given, spelling: str, node: Node) -> None:
        self.ground.findings.error(
            "E204",
            f"`{first.spelling}` and `{spelling}` are the same setting",
            node.key_span or node.span,
            f"keep one; its main name is `{first.name}`",
            (f"`{first.spelling}` is given here", first.node.key_span or first.node.span),
        )


def unknown_setting(ground: Ground, spelling: str, node: Node, settings: Settings) -> None:
    """The error for a name that a benchmark does not have."""
    name = settings.benchmark.name
    hint = did_you_mean(spelling, settings.spellings, f"`asct list settings {name}` shows them all")
    ground.findings.error("E202", f"unknown setting `{spelling}` of `{name}`", node.key_span or node.span, hint)


def _from_groups(ground: Ground, host: str, layer: Layer) -> dict[str, Given]:
    """Groups have no order among themselves, so two that disagree about a setting of a host are an error."""
    found: dict[str, Given] = {}
    for group, members in ground.plan.groups.items():
        if host not in members:
            continue
        for name, given in layer.read(ground.plan.group_config.get(group, {}), f"group {group}", 2).items():
            other = found.setdefault(name, given)
            if other.node.plain() != given.node.plain():
                ground.findings.error(
                    "E205",
                    f"{other.origin.layer} and {given.origin.layer} give host `{host}` different values of `{name}`",
                    given.node.span,
                    f"give `{name}` for host `{host}` itself, or in one of the groups only",
                    (f"{other.origin.layer} gives it here", other.node.span),
                )
    return found


def check_shared(ground: Ground) -> None:
    """Settings under `defaults`, a group or a host must belong to a benchmark: of this plan, or at least installed."""
    plan = ground.plan
    maps = [("defaults", plan.defaults_config)]
    maps += [(f"group {name}", config) for name, config in plan.group_config.items()]
    maps += [(f"host {name}", config) for name, config in plan.host_config.items()]
    known = _spellings(ground, (benchmark.name for benchmark in ground.used()))
    leftover = [(layer, key, node) for layer, config in maps for key, node in config.items() if key not in known]
    if not leftover:
        return
    known |= _spellings(ground, ground.catalog.names())
    for layer, key, node in leftover:
        if key not in known:
            hint = did_you_mean(key, known, "`asct list settings BENCHMARK` shows the settings of one")
            message = f"no benchmark has the setting `{key}` given by {layer}"
            ground.findings.error("E202", message, node.key_span or node.span, hint)


def _spellings(ground: Ground, names: Iterable[str]) -> set[str]:
    benchmarks = (ground.catalog.get(name) for name in names)
    return {word for item in benchmarks if item is not None for word in ground.settings(item).spellings}
