"""The contract of a benchmark. One folder of asct/benchmarks/ holds one subclass; the registry finds it by scanning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.guard import Consent
from asct.sdk.metric import Highlight, Metric
from asct.sdk.needs import Needs
from asct.sdk.params import Params
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.step import Output, Step

P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class ResultField:
    """A value that other benchmarks may read through `needs`: `dram.optimum_size`. `example` types it at plan time."""

    path: str
    unit: Literal["B", "s", "1"]
    help: str
    example: Scalar


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another benchmark whose result fills a setting that was left at its default ("auto", None).

    The planner adds a job of `benchmark` under the alias `alias` unless every setting of `satisfied_by` is given.
    """

    alias: str
    benchmark: str
    satisfied_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What `steps` may look at: the host, its work folder, what is done already and the results of needed jobs.

    `work` is the job's private folder on the host (absolute; the scratch file lies there), `needs` maps
    "alias.path" to a value, for instance {"cache.dram.optimum_size": 553648128}.
    """

    facts: HostFacts
    work: str
    done: Sequence[Output] = ()
    needs: Mapping[str, Scalar] = field(default_factory=dict)
    consents: Mapping[str, Consent] = field(default_factory=dict)
    """Devices of this host that the plan allows to be overwritten, by the path that the plan gives."""
    written: frozenset[str] = frozenset()
    """Paths that this run has written to before: what stands there without a known signature is its own."""


class Refusal(str):
    """A message of `check` for what is refused for safety (exit code 4)."""

    __slots__ = ()


class Unsuitable(ValueError):
    """The target is not what the settings ask for, as a step that looked at it found: no output was misread."""


class Benchmark(ABC, Generic[P]):
    """A named measurement. `steps`, `parse` and all that follows are pure: data in, data out."""

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[str]
    """Counts up when the method changes so that values are no longer comparable."""
    summary: ClassVar[str]
    """One line for `asct list`."""
    aliases: ClassVar[tuple[str, ...]] = ()
    keywords: ClassVar[tuple[str, ...]] = ()
    default: ClassVar[bool] = False
    """Part of the set that `asct run` takes without arguments."""
    hidden: ClassVar[bool] = False
    """Left out of `all` and keyword selection (noop)."""
    params_model: ClassVar[type[Params]]
    metrics: ClassVar[tuple[Metric, ...]]
    highlights: ClassVar[tuple[Highlight, ...]] = ()
    """What stands at the top of a report; left empty, the first metric of each unit."""
    flags: ClassVar[Mapping[str, str]] = {}
    """What each flag of its values means: a sentence without its full stop."""
    dependencies: ClassVar[tuple[Dependency, ...]] = ()
    results: ClassVar[tuple[ResultField, ...]] = ()

    def check(self, params: P) -> Iterable[tuple[str, str]]:
        """Settings that contradict one another: pairs of (setting, message). Called at plan time. A message that is a
        Refusal says what asct will not do, rather than what is wrong."""
        return ()

    @abstractmethod
    def needs(self, params: P, facts: HostFacts | None) -> Needs:
        """What one repeat asks of a host. `facts` is None while planning without hosts: estimate then."""

    def prepare(self, points: Sequence[P], context: Context) -> Sequence[Step]:
        """Steps run once per job before its first point (lay out the scratch file). Not repeated, not measured."""
        return ()

    @abstractmethod
    def steps(self, params: P, context: Context) -> Sequence[Step]:
        """The next steps of one repeat, given what is done; an empty sequence ends the repeat."""

    def foreseeable(self, params: P, facts: HostFacts) -> bool:
        """Whether the first answer of `steps` holds every step of a repeat: it asks nothing of their outputs.

        The host then gets all repeats of a job at once, and goes on by itself when the connection breaks.
        """
        return False

    def continues(self, params: P) -> bool:
        """Whether a repeat that was cut off goes on behind its last finished step, rather than begin again.

        For tests of hours. `steps` then sees the outputs of before in `Context.done`, and the first of those after the
        pause is `resumed`. `prepare` is run again.
        """
        return False

    @abstractmethod
    def parse(self, params: P, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """The values of one repeat from the texts of its steps.

        Raises ValueError with a message for people when an output is not what the program should have written.
        """

    def export(self, measurements: Sequence[Measurement]) -> Mapping[str, Scalar]:
        """Values of `results` that this repeat gives, by path. A path left out was not found (no clear level)."""
        return {}

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Tables for one job on one host, columns as users know them."""
        return ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Figures for one job on one host."""
        return ()

    def settings_schema(self) -> dict[str, Any]:
        """JSON Schema of the settings."""
        return self.params_model.model_json_schema()


class Catalog(Protocol):
    """Where benchmarks come from; the registry is one. Lower layers take it as an argument."""

    def names(self) -> Sequence[str]:
        """All main names, sorted."""
        ...

    def get(self, name: str) -> Benchmark[Any] | None:
        """By main name or alias; None when unknown."""
        ...
