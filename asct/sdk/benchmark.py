"""The contract of a benchmark. One folder of asct/benchmarks/ holds one subclass; the registry finds it by scanning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

from asct.sdk.params import Params

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.figure import Figure, Table
    from asct.sdk.guard import Consent
    from asct.sdk.metric import Highlight, Metric
    from asct.sdk.needs import Needs
    from asct.sdk.record import Measurement, Record, Scalar
    from asct.sdk.step import Output, Step

P = TypeVar("P", bound=Params)


class ResultField(NamedTuple):
    """A value that other benchmarks can read through `needs`, such as `dram.optimum_size`. `example` shows its type
    at plan time."""

    path: str
    unit: Literal["B", "s", "1"]
    help: str
    example: Scalar


class Dependency(NamedTuple):
    """Another benchmark whose result sets a setting that was left at its default ("auto", None).

    The planner adds a job of `benchmark` under the alias `alias` unless every setting of `satisfied_by` is given.
    """

    alias: str
    benchmark: str
    satisfied_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The input of `steps`: the host, its work folder, the finished steps and the results of needed jobs.

    `work` is the private folder of the job on the host (absolute; it contains the scratch file). `needs` maps
    "alias.path" to a value, for instance {"cache.dram.optimum_size": 553648128}.
    """

    facts: HostFacts
    work: str
    done: Sequence[Output] = ()
    needs: Mapping[str, Scalar] = field(default_factory=dict)
    consents: Mapping[str, Consent] = field(default_factory=dict)
    """Devices of this host that the plan allows to be overwritten, by the path that the plan gives."""
    written: frozenset[str] = frozenset()
    """Paths that this run has written to: content without a known signature there comes from the run itself."""


class Refusal(str):
    """A message of `check` for a refusal for safety reasons (exit code 4)."""

    __slots__ = ()


class Unsuitable(ValueError):
    """The target does not match the settings, as the output of a step shows. The output itself is valid."""


class Benchmark(ABC, Generic[P]):
    """A named measurement. `steps`, `parse` and all that follows are pure: data in, data out."""

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[str]
    """Increases when the method changes such that values are no longer comparable."""
    summary: ClassVar[str]
    """One line for `asct list`."""
    aliases: ClassVar[tuple[str, ...]] = ()
    keywords: ClassVar[tuple[str, ...]] = ()
    default: ClassVar[bool] = False
    """Whether `asct run` without arguments includes it."""
    hidden: ClassVar[bool] = False
    """Excluded from `all` and from selection by keyword (noop)."""
    params_model: ClassVar[type[Params]]
    metrics: ClassVar[tuple[Metric, ...]]
    highlights: ClassVar[tuple[Highlight, ...]] = ()
    """The values at the top of a report; if empty, the first metric of each unit."""
    flags: ClassVar[Mapping[str, str]] = {}
    """The meaning of each flag of its values, as a sentence without its full stop."""
    dependencies: ClassVar[tuple[Dependency, ...]] = ()
    results: ClassVar[tuple[ResultField, ...]] = ()

    def check(self, params: P) -> Iterable[tuple[str, str]]:
        """Contradictory settings as pairs of (setting, message). Called at plan time. A message of type Refusal means
        that asct refuses the settings for safety; any other message is an error."""
        return ()

    @abstractmethod
    def needs(self, params: P, facts: HostFacts | None) -> Needs:
        """The requirements of one repeat. `facts` is None while planning without hosts: return an estimate then."""

    def settle(self, points: Sequence[P], facts: HostFacts) -> Sequence[P]:
        """The settings of all points of a job on its host, in the same order. An `auto` whose value must be the same at
        every point is decided here. Called once per job; everything else sees the result."""
        return points

    def cautions(self, points: Sequence[P], facts: HostFacts) -> Iterable[tuple[str, str]]:
        """Why this host does not measure these points as their settings ask, as pairs of (message, hint). They are
        reported as warnings before the job; the points are measured all the same."""
        return ()

    def prepare(self, points: Sequence[P], context: Context) -> Sequence[Step]:
        """Steps that run once per job before its first point (lay out the scratch file). They are not repeated or
        measured."""
        return ()

    @abstractmethod
    def steps(self, params: P, context: Context) -> Sequence[Step]:
        """The next steps of one repeat, given the finished ones; an empty sequence ends the repeat."""

    def steps_known_ahead(self, params: P, facts: HostFacts) -> bool:
        """Whether the first call of `steps` returns every step of a repeat, independent of their outputs.

        The host then receives all repeats of a job at once, and continues by itself if the connection breaks.
        """
        return False

    def continues(self, params: P) -> bool:
        """Whether an interrupted repeat continues after its last finished step instead of starting again.

        For long tests. `steps` then receives the earlier outputs in `Context.done`, and the first output after the
        pause is `resumed`. `prepare` runs again.
        """
        return False

    @abstractmethod
    def parse(self, params: P, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """The values of one repeat, parsed from the outputs of its steps.

        Raises ValueError with a message for the user when an output is not in the format of its program.
        """

    def export(self, measurements: Sequence[Measurement]) -> Mapping[str, Scalar]:
        """Values of `results` from this repeat, by path. A path that is missing was not found (no clear level)."""
        return {}

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Tables for one job on one host."""
        return ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Figures for one job on one host."""
        return ()

    def settings_schema(self) -> dict[str, Any]:
        """JSON Schema of the settings."""
        return self.params_model.model_json_schema()


class Catalog(Protocol):
    """A collection of benchmarks; the registry is one. Lower layers receive it as an argument."""

    def names(self) -> Sequence[str]:
        """All main names, sorted."""
        ...

    def get(self, name: str) -> Benchmark[Any] | None:
        """Find a benchmark by main name or alias; None if unknown."""
        ...
