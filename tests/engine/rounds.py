"""A test of many steps that continues after the last finished one, and runs of this test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asct.planner.model import Job
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.params import Params, setting
from asct.sdk.record import Measurement
from asct.sdk.step import Output, Step, Tool
from tests.engine import plant

LAST = 5


class RoundsParams(Params):
    log: str = setting("", "a file that gets a line for each step that is run")
    trouble: str = setting(":", "shell words run in each step; $1 is its number")
    flag: str = setting("", "a flag of the value")
    text: str = setting("", "a file given to each step")
    limit: float = setting(0.0, "seconds that a step may take")


class Rounds(Benchmark[RoundsParams]):
    """A test of five steps that are requested in pairs. The second of its values shows which outputs came after an
    interruption."""

    name = "rounds"
    title = summary = "rounds"
    version = "1"
    params_model = RoundsParams
    metrics = (Metric("sum", "1", "neither", "of all outputs"), Metric("resumed", "1", "neither", "as digits"))

    def needs(self, params: RoundsParams, facts: HostFacts | None) -> Needs:
        return Needs(tools=(("sh", ""),), seconds=0.1)

    def continues(self, params: RoundsParams) -> bool:
        return True

    def steps(self, params: RoundsParams, context: Context) -> Sequence[Step]:
        first = len(context.done)
        script = f'echo $1 >> {params.log}; {params.trouble}; echo $1 | tee kept; : "$2"'
        return [
            Step(
                f"round-{number}",
                Tool("sh"),
                ("-c", script, "sh", str(number), context.work),
                files={"given": params.text},
                collect=("kept",),
                timeout_s=params.limit or None,
            )
            for number in range(first, min(first + 2, LAST))
        ]

    def parse(self, params: RoundsParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        flags = (params.flag,) if params.flag else ()
        after = "".join(str(number) for number, output in enumerate(outputs) if output.resumed)
        total = sum(int(output.files["kept"]) for output in outputs)
        return (Measurement("sum", total, flags=flags), Measurement("resumed", int(after or -1)))


def rounds_job(log: Path, trouble: str = ":", repeats: int = 1, strict: bool = False, **settings: Any) -> Job:
    point = plant.point("rounds", log=str(log), trouble=trouble, **settings)
    return plant.job(point, benchmark="rounds", repeats=repeats, strict=strict)


def ports(**changed: Any) -> plant.Services:
    return plant.collaborators(catalog=plant.Shelf((Rounds(),)), **changed)
