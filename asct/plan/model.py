"""The loaded plan, with types and locations. Templates under `config` and `sweep` are not yet evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, get_args

from asct.diagnostics.model import Diagnostic, Span

Order = Literal["interleaved", "grouped", "random"]
OnMissing = Literal["fail", "warn", "pass"]
Level = Literal["fail", "warn", "info"]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)
SWEEP_WORDS: Final = ("zip", "where", "exclude", "include")
"""Keys of `sweep` that are not settings."""
RETRY_ON: Final = ("host-lost", "timeout", "failed", "invalid", "noisy")
"""The outcomes that a plan may list under `retry: on`."""


class _Rejected(Enum):
    """The type of REJECTED."""

    VALUE = "rejected"


REJECTED: Final = _Rejected.VALUE
"""The value of a node after an error in the node has been reported. Anything that depends on the node is skipped
without a further error."""

Gap = tuple[str, ...]
"""The path of a part of the plan, such as ("hosts",) or ("groups", "lab"), that is unknown because its definition
contains an error."""


class Node(NamedTuple):
    """A YAML value with its location. `value` is a plain scalar, a list of Node, or a dict that maps keys to Node.

    `key_span` is the location of its key, if there is one.
    """

    value: Any
    span: Span
    key_span: Span | None = None

    @property
    def location(self) -> Span:
        """The location of the key, or of the value if there is no key."""
        return self.key_span or self.span

    @property
    def sound(self) -> bool:
        """Whether every part of the value was accepted."""
        if isinstance(self.value, dict):
            return all(node.sound for node in self.value.values())
        if isinstance(self.value, list):
            return all(node.sound for node in self.value)
        return self.value is not REJECTED

    def rejected(self) -> Node:
        """Return the node without its value, for use after an error in the node has been reported."""
        return self._replace(value=REJECTED)

    def plain(self) -> Any:
        """Return the value without locations."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


@dataclass(frozen=True, slots=True)
class PendingValue:
    """A template that reads results of `needs`. The value of the setting is unknown until the jobs that supply these
    results are done.

    `text` is the template as written, and `aliases` contains the aliases in `needs` whose results it reads. `values`
    contains all other values that it reads ({"host.vars.factor": 2}), so that it can be evaluated without the plan.
    `paths` contains the results that it reads (`cache.dram.optimum_size`), each with its location; a frozen plan omits
    them.
    """

    text: str
    aliases: tuple[str, ...]
    span: Span | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    paths: tuple[tuple[str, Span], ...] = field(default=(), compare=False)


OPTION_FIELDS: Final = ("port", "identity_file", "known_hosts", "jump")
"""The keys of transports that are fields of HostSpec, because templates, frozen plans and plan hashes contain them."""


class HostSpec(NamedTuple):
    """One host, with ranges expanded and defaults merged.

    `options` contains the keys of its transport, such as `partition` for slurm, except OPTION_FIELDS.
    """

    name: str
    transport: str = "local"
    address: str = ""
    port: int = 22
    user: str | None = None
    identity_file: str | None = None
    known_hosts: str | None = None
    jump: str | None = None
    sudo: bool = False
    workdir: str = "/var/tmp/asct"  # noqa: S108 - the documented default; private folders are created below it
    labels: Mapping[str, str] = {}
    vars: Mapping[str, Node] = {}
    options: Mapping[str, Any] = {}
    span: Span | None = None

    @property
    def uses_sudo(self) -> bool:
        """Whether programs that require root may run through sudo. This is False if the user is root."""
        return self.sudo and self.user != "root"


class Retry(NamedTuple):
    """The maximum number of retries of a repeat, and the outcomes that cause a retry."""

    max: int = 0
    on: tuple[str, ...] = ()


class Execution(NamedTuple):
    """The execution settings for points. In an entry, None stands for the plan's default."""

    repeats: int | None = None
    warmup: int | None = None
    timeout_s: float | None = None
    retry: Retry | None = None
    order: Order | None = None
    strict: bool | None = None


class Sweep(NamedTuple):
    """A sweep: the product of `axes` and zips, filtered by `where`, minus the points in `exclude` and plus those in
    `include`. Axis nodes are lists or ranges."""

    axes: Mapping[str, Node]
    zips: tuple[Mapping[str, Node], ...] = ()
    where: Node | None = None
    exclude: tuple[Node, ...] = ()
    include: tuple[Node, ...] = ()
    span: Span | None = None


class Entry(NamedTuple):
    """One item of `benchmarks:`, with `extends` applied. `hosts` contains names, groups and patterns; None means all
    hosts."""

    id: str
    uses: str
    span: Span
    uses_span: Span
    hosts: tuple[Node, ...] | None = None
    tags: tuple[str, ...] = ()
    config: Mapping[str, Node] = {}
    sweep: Sweep = Sweep({})
    needs: Mapping[str, Node] = {}
    execution: Execution = Execution()
    reason: str = "named in the plan"


class Bound(NamedTuple):
    """The bounds of an expectation and its reference; each node is a scalar without templates, such as `130 ns` or
    `85%`."""

    min: Node | None = None
    max: Node | None = None
    no_worse_than: Node | None = None
    reference: Node | None = None


class Expectation(NamedTuple):
    """One item of `expect:`. `metric` is `<benchmark id>.<metric>` or a pattern; `by` overrides the bound for
    individual hosts."""

    metric: Node
    span: Span
    at: Mapping[str, Node] = {}
    bound: Bound = Bound()
    by: Mapping[str, tuple[Node, Bound]] = {}
    of: Node | None = None
    versus: Literal["baseline"] | None = None
    severity: Level = "fail"
    if_missing: OnMissing = "fail"


class Destroys(NamedTuple):
    """A consent entry: permission to overwrite one device on one host. All values are literal."""

    host: str
    device: str
    serial: str | None
    overwrite: bool
    reason: str
    span: Span


class Safety(NamedTuple):
    """The `safety:` section: the consent entries, and the limit on bytes written."""

    destroys: tuple[Destroys, ...] = ()
    max_written_bytes: int | None = None


class Limits(NamedTuple):
    """The `limits:` section: the maximum number of points, and the maximum estimated duration in seconds."""

    points: int = 5000
    duration_s: float | None = None


class ReportSpec(NamedTuple):
    """The `report:` section: the title, formats and feature table of the report."""

    title: str | None = None
    formats: tuple[str, ...] = ("html", "markdown")
    features: Mapping[str, Mapping[str, str]] = {}
    """The features that the user specifies for measured items, such as drives: for each item, a mapping from feature
    names to text."""


class Plan(NamedTuple):
    """A loaded plan. `text` is the content of the main file; `files` maps the name of each file to its text, for
    diagnostics."""

    name: str
    description: str
    path: str
    text: str
    files: Mapping[str, str]
    vars: Mapping[str, Node]
    hosts: Mapping[str, HostSpec]
    groups: Mapping[str, tuple[str, ...]]
    defaults_config: Mapping[str, Node]
    """The settings in `defaults.config`, which is the layer directly above the benchmark's own defaults."""
    group_config: Mapping[str, Mapping[str, Node]]
    """Settings for groups (`groups: {g: {hosts: [...], config: {...}}}`)."""
    host_config: Mapping[str, Mapping[str, Node]]
    """Settings for hosts (`hosts: {h: {config: {...}}}`)."""
    execution: Execution
    benchmarks: tuple[Entry, ...]
    expect: tuple[Expectation, ...] = ()
    baseline: Node | None = None
    confirm: bool = True
    """Whether values that seem to have regressed are measured again."""
    safety: Safety = Safety()
    limits: Limits = Limits()
    report: ReportSpec = ReportSpec()
    inputs: tuple[str, ...] = ()
    select: tuple[Node, ...] = ()
    """The names, aliases and keywords of benchmarks to run in addition to the entries in `benchmarks`."""
    profiles: tuple[str, ...] = ()
    """The names of the profiles."""
    overrides: tuple[tuple[str, Node], ...] = ()
    """The benchmark settings that `--set` changes, each as a pair of a path ("fine-depth.config.iodepth" or
    "bench.setting") and a value."""
    gaps: frozenset[Gap] = frozenset()
    """The parts that are unknown because of errors (see `Findings.gaps`)."""


class Loaded(NamedTuple):
    """The result of loading a plan: the plan if there are no errors, and all findings.

    `partial` is the plan even if it has errors: its valid parts, with REJECTED values and `gaps` in place of the
    invalid parts. The planner resolves it in order to report all errors at once, but it is never executed. Without
    errors, `partial` is the same as `plan`.
    """

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    files: Mapping[str, str]
    partial: Plan | None = None
