"""Collect the values of settings from their layers, evaluate templates, check types, and report errors at their
locations.

The layers, from lowest to highest, are: the benchmark, plan defaults, host groups, host, entry, `--set`. The sweep lies
between the entry and `--set`; the module `points` adds it to the values collected here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from asct.diagnostics.model import Span
from asct.errors import PlanError
from asct.plan.entries import ENTRY_KEYS
from asct.plan.fields import flow
from asct.plan.model import Entry, HostSpec, Node, PendingValue
from asct.plan.ranges import axis_values
from asct.plan.scope import Scope, scope_of
from asct.plan.templates import Condition, compile_where, evaluate, evaluate_pending
from asct.planner.context import ANY, ResolveContext
from asct.planner.model import Origin
from asct.planner.settings import InvalidSettings, Settings
from asct.sdk.benchmark import Benchmark
from asct.sdk.setting_errors import SettingError
from asct.values.suggest import ALIKE, did_you_mean, nearest

if TYPE_CHECKING:
    from asct.sdk.record import Scalar

CONFIG_RANK = 4
SWEEP_RANK = 5
SET_RANK = 6


class GivenSetting(NamedTuple):
    """A setting given in the plan: its main name, its spelling in the plan, its value, and the layer that sets it. The
    value with the highest `rank` takes precedence."""

    name: str
    spelling: str
    node: Node
    origin: Origin
    rank: int


def layered(context: ResolveContext, entry: Entry, host: str, settings: Settings) -> dict[str, GivenSetting]:
    """Return each setting in the plan, with its highest-ranking value.

    Reports unknown settings, settings that appear under two spellings, and conflicting groups. Settings in `defaults`,
    groups and hosts may belong to other benchmarks.
    """
    plan = context.plan
    merged = _layer(context, settings, plan.defaults_config, "defaults", 1)
    merged |= _from_groups(context, host, settings)
    merged |= _layer(context, settings, plan.host_config.get(host, {}), f"host {host}", 3)
    merged |= _layer(context, settings, entry.config, "config", CONFIG_RANK)
    for override in context.overrides:
        if override.meets(entry, settings.benchmark.name):
            merged |= _layer(context, settings, {override.spelling: override.node}, "--set", SET_RANK)
    return merged


def _layer(
    context: ResolveContext, settings: Settings, config: Mapping[str, Node], layer: str, rank: int
) -> dict[str, GivenSetting]:
    """Return the settings in one map, keyed by main name."""
    found: dict[str, GivenSetting] = {}
    for spelling, node in config.items():
        name = settings.spellings.get(spelling)
        if name is None and rank >= CONFIG_RANK:
            name = unknown_setting(context, spelling, node, settings)
        if name is None:
            continue
        if name in found:
            first = found[name]
            message = f"`{first.spelling}` and `{spelling}` are the same setting"
            note = (f"`{first.spelling}` is set here", first.node.location)
            hint = f"remove one; the main name is `{name}`"
            context.findings.error("E204", message, node.location, hint, note)
        else:
            found[name] = GivenSetting(name, spelling, node, Origin(layer, node.span), rank)
    return found


def unknown_setting(context: ResolveContext, spelling: str, node: Node, settings: Settings) -> str | None:
    """Report a setting that the benchmark does not have, and return the one that was probably meant."""
    hint, meant = likely_setting(settings, spelling)
    context.findings.error("E202", f"unknown setting `{spelling}` of `{settings.benchmark.name}`", node.location, hint)
    return meant


def likely_setting(settings: Settings, unknown: str) -> tuple[str, str | None]:
    """Return a hint for an unknown setting, and the main name of the setting that was probably meant, or None."""
    benchmark = settings.benchmark
    if unknown in ENTRY_KEYS:
        return f"`{unknown}` is a key of the entry, not a setting; write it next to `uses`", None
    if hint := benchmark.params_model.hint_for_unknown(unknown):
        return hint, None
    hint = did_you_mean(unknown, settings.spellings, f"`asct list settings {benchmark.name}` lists them")
    suggestion = nearest(unknown, settings.spellings, ALIKE)
    return hint, None if suggestion is None else settings.spellings[suggestion]


def _from_groups(context: ResolveContext, host: str, settings: Settings) -> dict[str, GivenSetting]:
    """Return the settings from a host's groups. Because groups have no order, two different values for a setting are an
    error."""
    found: dict[str, GivenSetting] = {}
    for group, members in context.plan.groups.items():
        if host not in members:
            continue
        config = context.plan.group_config.get(group, {})
        for name, item in _layer(context, settings, config, f"group {group}", 2).items():
            other = found.setdefault(name, item)
            if other.node.plain() != item.node.plain():
                context.findings.error(
                    "E205",
                    f"{other.origin.layer} and {item.origin.layer} set different values for `{name}` on host `{host}`",
                    item.node.span,
                    f"set `{name}` for host `{host}`, or in only one of the groups",
                    (f"{other.origin.layer} sets it here", other.node.span),
                )
    return found


def check_shared(context: ResolveContext) -> None:
    """Report settings in `defaults`, groups and hosts that no installed benchmark has."""
    plan = context.plan
    maps = [("defaults", plan.defaults_config)]
    maps += [(f"group {name}", config) for name, config in plan.group_config.items()]
    maps += [(f"host {name}", config) for name, config in plan.host_config.items()]
    known = _spellings(context, (benchmark.name for benchmark in context.used()))
    leftover = [(layer, key, node) for layer, config in maps for key, node in config.items() if key not in known]
    if not leftover:
        return
    known |= _spellings(context, context.catalog.names())
    for layer, key, node in leftover:
        if key not in known:
            hint = did_you_mean(key, known, "`asct list settings BENCHMARK` lists the settings of a benchmark")
            message = f"no benchmark has the setting `{key}` (set by {layer})"
            context.findings.error("E202", message, node.location, hint)


def _spellings(context: ResolveContext, names: Iterable[str]) -> set[str]:
    benchmarks = (context.catalog.get(name) for name in names)
    return {word for item in benchmarks if item is not None for word in context.settings(item).spellings}


class SettingValue(NamedTuple):
    """The value of a setting.

    `value` is canonical. If the setting depends on results from other jobs, `value` is computed from example results,
    and `final` is the pending value that the points receive.
    """

    value: Any
    final: Any
    node: Node
    origin: Origin
    rank: int
    aliases: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether the value reads results from other jobs."""
        return bool(self.aliases)


@dataclass(slots=True)
class ValueReader:
    """Reads the settings of one benchmark on one host.

    `needed` maps each alias that templates may read to its benchmark (None if unknown). `rejected` collects what is
    unknown because of errors: settings, ANY, and the parts `config`, `where` and `exclude` of the entry.
    """

    context: ResolveContext
    settings: Settings
    host: HostSpec
    needed: Mapping[str, Benchmark[Any] | None]
    rejected: set[str] = field(default_factory=set)
    scope: Scope = field(init=False)
    _examples: dict[str, Scalar] = field(init=False)

    def __post_init__(self) -> None:
        self.scope = scope_of(self.context.plan, self.host, self.needed)
        self._examples = {
            f"{alias}.{item.path}": item.example
            for alias, needed in self.needed.items()
            for item in (needed.results if needed is not None else ())
        }

    def hides(self, *names: str) -> bool:
        """Return whether one of these settings or parts is unknown because of an error."""
        return not self.rejected.isdisjoint((ANY, *names))

    def base(self, settings: Mapping[str, GivenSetting]) -> dict[str, SettingValue]:
        """Return the values of all valid settings, and report the invalid ones."""
        found = {name: self._value_of(item) for name, item in settings.items()}
        self.rejected.update(name for name, value in found.items() if value is None)
        return {name: value for name, value in found.items() if value is not None}

    def _value_of(self, item: GivenSetting) -> SettingValue | None:
        node = self._listed(item.name, self.evaluated(item.node))
        if node is None or not node.sound:
            return None
        final = node.plain()
        aliases = tuple(dict.fromkeys(_aliases(final)))
        try:
            raw = self._example(node) if aliases else node.plain()
        except PlanError as error:
            self.context.findings.take(error)
            return None
        value = self.canonical(item.name, raw, node, from_plan=not aliases)
        if value is None:
            return None
        return SettingValue(value[0], final if aliases else value[0], node, item.origin, item.rank, aliases)

    def _listed(self, name: str, node: Node) -> Node | None:
        """Expand a list of steps that is written as a range, in the same way as an axis."""
        if name not in self.settings.steps or not isinstance(node.value, dict):
            return node
        items = self.axis(name, node)
        return None if items is None else node._replace(value=items)

    def axis(self, name: str, node: Node) -> list[Node] | None:
        """Return the raw values of an axis, or None after an error."""
        if not isinstance(node.value, list) and not node.sound:
            return None
        return self.context.findings.attempt(axis_values, node, self.settings.kinds.get(name))

    def evaluated(self, node: Node) -> Node:
        """Return the node with its templates evaluated. Values with errors are REJECTED."""
        return evaluate(node, self.scope, self.context.findings)

    def canonical(self, name: str, raw: Any, node: Node, *, from_plan: bool = True) -> tuple[Any] | None:
        """Return `raw`, converted to the setting's type, in a 1-tuple.

        If `raw` is invalid, report it at `node` and return None.
        """
        try:
            return (self.settings.read(name, raw, from_plan=from_plan),)
        except InvalidSettings as error:
            if raw and isinstance(raw, list | dict) and not any(problem.path for problem in error.problems):
                self._not_one(name, raw, node)
                return None
            for problem in error.problems:
                self._invalid(name, problem, node)
            return None

    def _not_one(self, name: str, raw: Any, node: Node) -> None:
        """Report a list or range that appears in place of a single value. The hint shows how to sweep the setting."""
        if isinstance(raw, dict) and "from" not in raw:
            message, hint = f"`{name}` must be one value, not a map", f"write `{name}: VALUE`"
        else:
            message = f"`{name}` takes one value, not {'a list' if isinstance(raw, list) else 'a range'}"
            hint = f"to measure each value, write `sweep: {{{name}: {flow(raw)}}}` next to `config`"
        self.context.findings.error("E208", message, node.span, hint)

    def swept(self, name: str, node: Node) -> tuple[Any] | None:
        """Return a value from an axis, `exclude` or `include` as a 1-tuple, or None after an error. The value cannot be
        pending."""
        found = self.evaluated(node)
        if not found.sound:
            return None
        if any(True for _ in _aliases(found.plain())):
            message = (
                f"`{name}` is swept and cannot use results from `needs`, because points must be known before jobs run"
            )
            self.context.findings.error("E219", message, node.span, "list the values, or set it under `config`")
            return None
        return self.canonical(name, found.plain(), found)

    def where(self, node: Node, names: tuple[str, ...]) -> Condition | None:
        """Return the condition for a sweep over the settings `names`, or None after an error. The condition may use any
        spelling of these settings."""
        spellings = [word for word, name in self.settings.spellings.items() if name in names or self.hides(name)]
        found = self.context.findings.attempt(compile_where, node, spellings, self.scope) if node.sound else None
        if found is None or self.hides(*(self.settings.spellings[word] for word in found.names)):
            self.rejected.add("where")
            return None
        return found

    def _invalid(self, name: str, problem: SettingError, node: Node) -> None:
        place = node
        for step in problem.path:
            if isinstance(place.value, list) and isinstance(step, int) and step < len(place.value):
                place = place.value[step]
        message, notes = f"`{name}`: {problem.message}", []
        if isinstance(place.value, PendingValue):
            paths = dict.fromkeys(path for path, _ in place.value.paths)
            samples = ", ".join(f"`needs.{path}` = {self._examples[path]}" for path in paths)
            notes.append((f"asct checked this with a sample result: {samples}", None))
        self.context.findings.error("E208", message, place.span, problem.hint, *notes)

    def _example(self, node: Node) -> Any:
        """Return the value of a node, with example values in place of results. Raises PlanError for an unknown
        result."""
        if isinstance(node.value, list):
            return [self._example(item) for item in node.value]
        if not isinstance(node.value, PendingValue):
            return node.plain()
        pending = node.value
        for path, span in pending.paths:
            self._check_path(path, span)
        known = {path: self._examples[path] for path, _ in pending.paths if path in self._examples}
        if len(known) < len({path for path, _ in pending.paths}):
            raise PlanError
        try:
            return evaluate_pending(pending.text, known, pending.values)
        except PlanError as error:
            raise PlanError(*(replace(item, span=item.span or node.span) for item in error.diagnostics)) from None

    def _check_path(self, path: str, span: Span) -> None:
        alias, _, result = path.partition(".")
        if path in self._examples:
            return
        benchmark = self.needed[alias]
        if benchmark is None:
            return
        known = [item.path for item in benchmark.results]
        hint = did_you_mean(result, known, f"its results: {', '.join(known)}" if known else "it has no results")
        self.context.findings.error("E224", f"`{result}` is not a result of `{benchmark.name}`", span, hint)


def _aliases(value: Any) -> list[str]:
    if isinstance(value, PendingValue):
        return list(value.aliases)
    return [alias for item in value for alias in _aliases(item)] if isinstance(value, list) else []
