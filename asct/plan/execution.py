"""How points are run: repeats, warm-ups, time limit, retries, order. The same keys in `defaults` and in an entry."""

from __future__ import annotations

from typing import Final, cast

from asct.plan.fields import Section
from asct.plan.model import Execution, Order, Retry

EXECUTION_KEYS: Final = ("repeats", "warmup", "timeout", "retry", "order", "strict")
ORDERS: Final = ("interleaved", "grouped", "random")
RETRY_ON: Final = ("host-lost", "timeout", "failed", "noisy")
DEFAULTS: Final = Execution(repeats=1, warmup=0, retry=Retry(), order="interleaved", strict=False)

_MOST_REPEATS: Final = 100_000


def read_execution(section: Section) -> Execution:
    """What a map says of it; None where it says nothing."""
    timeout = section.duration("timeout")
    if timeout == 0:
        message, hint = "a time limit of 0 stops every point at once", "write a longer one: `15m`"
        section.findings.error("E112", message, section.members["timeout"].span, hint)
    return Execution(
        repeats=section.whole("repeats", 1, _MOST_REPEATS),
        warmup=section.whole("warmup", 0, _MOST_REPEATS),
        timeout_s=timeout,
        retry=_retry(section),
        order=cast("Order | None", section.choice("order", ORDERS)),
        strict=section.flag("strict"),
    )


def filled(given: Execution, below: Execution = DEFAULTS) -> Execution:
    """`given`, with what it leaves open taken from `below`."""
    return Execution(
        repeats=below.repeats if given.repeats is None else given.repeats,
        warmup=below.warmup if given.warmup is None else given.warmup,
        timeout_s=below.timeout_s if given.timeout_s is None else given.timeout_s,
        retry=below.retry if given.retry is None else given.retry,
        order=below.order if given.order is None else given.order,
        strict=below.strict if given.strict is None else given.strict,
    )


def _retry(section: Section) -> Retry | None:
    node = section.members.get("retry")
    if node is None:
        return None
    retry = Section(section.desk, node, "`retry`", ("max", "on"))
    causes = [retry.chosen(item, "on", RETRY_ON) for item in retry.text_nodes("on")]
    most = retry.whole("max", 0, 100)
    on = tuple(cause for cause in causes if cause is not None)
    return Retry(max=1 if most is None else most, on=on or ("host-lost", "timeout"))
