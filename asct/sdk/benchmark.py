"""The interface that every benchmark implements. Each folder in asct/benchmarks/ contains one subclass of `Benchmark`;
the registry scans the folders to find them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

from asct.sdk.params import Params

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.figure import Figure, Table
    from asct.sdk.guard import Consent
    from asct.sdk.metric import Highlight, Metric
    from asct.sdk.needs import Needs
    from asct.sdk.quantity import Quantity
    from asct.sdk.record import Measurement, Record, Scalar
    from asct.sdk.step import Output, Step

P = TypeVar("P", bound=Params)


class ResultField(NamedTuple):
    """A value that other benchmarks can read through `needs`, such as `dram.optimum_size`. While a plan is checked,
    `example` stands in for the value and must have the same type."""

    path: str
    unit: Literal["B", "s", "1"]
    help: str
    example: Scalar


class Dependency(NamedTuple):
    """Another benchmark whose result supplies a setting that is left at its default ("auto", None). The planner adds a
    job for `benchmark` under the alias `alias` unless every setting in `satisfied_by` is set.
    """

    alias: str
    benchmark: str
    satisfied_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The input of `steps`: the host, the job's work folder, the finished steps, and the results of the jobs that this
    job depends on.

    `work` is the absolute path of the job's private folder on the host; the temporary file is in it. `needs` maps
    "alias.path" to a value, for example {"cache.dram.optimum_size": 553648128}.
    """

    facts: HostFacts
    work: str
    done: Sequence[Output] = ()
    needs: Mapping[str, Scalar] = field(default_factory=dict)
    consents: Mapping[str, Consent] = field(default_factory=dict)
    """The consents to overwrite devices on this host, keyed by device path as written in the plan."""
    written_paths: frozenset[str] = frozenset()
    """The paths that this run has already written to. Content without a known signature at such a path comes from the
    run itself."""
    earlier: Sequence[Record] = ()
    """Records of the same point in the newest earlier run on this host under the same conditions if `uses_earlier` is
    set, otherwise empty."""


class Refusal(str):
    """A message from `check` about settings that are refused for safety reasons (exit code 4)."""

    __slots__ = ()


class LineError(str):
    """A message from `check` about one line of a setting. The number of the line is part of the message."""

    line: int

    @classmethod
    def at(cls, line: int, message: str) -> LineError:
        """Return the message about the line with this number. Lines are numbered from 1."""
        error = cls(f"line {line}: {message}")
        error.line = line
        return error


class Unsuitable(ValueError):
    """Raised if a step's output is valid but shows that the target does not suit the settings."""


class Benchmark(ABC, Generic[P]):
    """A named measurement. `steps` and all methods defined after it are pure functions."""

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[str]
    """The version of the measurement method. It is increased when new values are no longer comparable with earlier
    ones."""
    summary: ClassVar[str]
    """A one-line description for `asct list`."""
    aliases: ClassVar[tuple[str, ...]] = ()
    keywords: ClassVar[tuple[str, ...]] = ()
    default: ClassVar[bool] = False
    """Whether `asct run` without arguments includes the benchmark."""
    hidden: ClassVar[bool] = False
    """Whether `all` and selection by keyword leave out the benchmark, as they do for noop."""
    params_model: ClassVar[type[Params]]
    metrics: ClassVar[tuple[Metric, ...]]
    highlights: ClassVar[tuple[Highlight, ...]] = ()
    """The values shown at the top of a report. If empty, the first metric of each unit is shown."""
    quantities: ClassVar[tuple[Quantity, ...]] = ()
    """The quantities that this benchmark measures. asct compares the values in a run that measure the same quantity."""
    flags: ClassVar[Mapping[str, str]] = {}
    """The meaning of each flag that a value can have, as a sentence without a period."""
    pictures: ClassVar[Mapping[str, str]] = {}
    """The name of the image file for each figure, without the extension, keyed by the figure's slug. A name that starts
    with `{id}/` is in the folder of the benchmark entry; any other name is in the run folder. A figure that is not
    listed is named `{id}/` followed by its slug."""
    dependencies: ClassVar[tuple[Dependency, ...]] = ()
    uses_earlier: ClassVar[bool] = False
    """Whether `steps` depends on `Context.earlier`."""
    results: ClassVar[tuple[ResultField, ...]] = ()
    _points: Mapping[str, Mapping[str, Any]] = {}
    """The settings of the points to show, by point id; see `with_settings`."""

    def check(self, params: P) -> Iterable[tuple[str, str]]:
        """Return the settings that contradict each other, as (setting, message) pairs. asct calls this method when it
        checks a plan.

        If the message is a Refusal, asct refuses the settings for safety reasons; any other message is an error. A
        LineError is reported at its line if the plan contains the setting as a block of lines.
        """
        return ()

    @abstractmethod
    def needs(self, params: P, facts: HostFacts | None) -> Needs:
        """Return the resources that one repeat requires. `facts` is None if the plan is resolved without contacting
        hosts; the result is then an estimate."""

    def settle(self, points: Sequence[P], facts: HostFacts) -> Sequence[P]:
        """Return the settings of all points of a job in the same order, with each `auto` that must have the same value
        at all points replaced by that value. asct calls this method once per job, before it uses the settings on the
        host.
        """
        return points

    def cautions(self, points: Sequence[P], facts: HostFacts) -> Iterable[tuple[str, str]]:
        """Return the reasons why this host cannot measure these points exactly as their settings request. Each reason
        is a (message, hint) pair and is reported as a warning before the job starts. The points are measured anyway.
        """
        return ()

    def prepare(self, points: Sequence[P], context: Context) -> Sequence[Step]:
        """Return the steps that run once per job before its first point, for example to lay out the temporary file.

        These steps are neither repeated nor measured.
        """
        return ()

    @abstractmethod
    def steps(self, params: P, context: Context) -> Sequence[Step]:
        """Return the next steps of a repeat, given the finished ones in `context.done`. An empty sequence ends the
        repeat."""

    def steps_known_ahead(self, params: P, facts: HostFacts) -> bool:
        """Return whether the first call of `steps` returns all steps of a repeat. This is possible only if no step
        depends on the output of another step.

        If so, the host receives all repeats of a job at once and continues independently if the connection is lost.
        """
        return False

    def continues(self, params: P) -> bool:
        """Return whether an interrupted repeat continues after its last finished step. If not, it starts over.

        Long tests should return True. In that case, `steps` receives the earlier outputs in `Context.done`, and the
        first output after the interruption has `resumed` set. `prepare` runs again.
        """
        return False

    @abstractmethod
    def parse(self, params: P, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Parse the outputs of one repeat's steps and return the measured values.

        Raises ValueError with a message for the user if an output does not have its program's format.
        """

    def export(self, measurements: Sequence[Measurement]) -> Mapping[str, Scalar]:
        """Return the values of this repeat for the fields in `results`, keyed by path. Omit a path that has no value,
        for example because no level is clearly visible."""
        return {}

    def with_settings(self, settings: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return a copy of the benchmark that uses these settings, keyed by point id, to render tables and figures."""
        benchmark = copy(self)
        benchmark._points = settings
        return benchmark

    def display_setting(self, point_id: str, name: str) -> Any:
        """Return the value of a display setting for a point, or its default if `with_settings` omitted the point."""
        from pydantic import ValidationError

        try:
            return getattr(self.params_model.model_validate(dict(self._points.get(point_id, {}))), name)
        except ValidationError:
            return self.params_model.model_fields[name].default

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return the tables for one job on one host."""
        return ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return the figures for one job on one host."""
        return ()


class Catalog(Protocol):
    """A collection of benchmarks, such as the registry. Lower layers receive it as an argument."""

    def names(self) -> Sequence[str]:
        """Return all main names, sorted."""
        ...

    def get(self, name: str) -> Benchmark[Any] | None:
        """Return the benchmark with this main name or alias, or None if it is unknown."""
        ...
