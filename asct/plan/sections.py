"""The smaller sections of a plan: execution, expectations, safety, limits, report, baseline and inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast

from asct.plan.fields import ParseContext, Section, kind_of
from asct.plan.formats import report_formats
from asct.plan.model import (
    ORDERS,
    REJECTED,
    RETRY_ON,
    Bound,
    Destroys,
    Execution,
    Expectation,
    Level,
    Limits,
    Node,
    OnMissing,
    Order,
    ReportSpec,
    Retry,
    Safety,
)
from asct.plan.names import IDENTIFIER
from asct.values.error import clip

_BOUNDS: Final = Bound._fields
CHANGEABLE_BOUNDS: Final = (*_BOUNDS, "of", "severity", "if_missing", "by")
"""The keys of an expectation that profiles and `--set` may change."""
_EXPECT_KEYS: Final = ("id", "metric", "at", "versus", *CHANGEABLE_BOUNDS)
_COMPARISON: Final = re.compile(r"(\S+)\s*([<>])=?\s*(\S.*)")
_DEVICE: Final = re.compile(r"/dev/[A-Za-z0-9._:+@/-]+", re.ASCII)
_MOST_POINTS: Final = 10_000_000


def read_expectations(node: Node | None, context: ParseContext) -> tuple[Expectation, ...]:
    """Read the expectations. Bounds remain nodes, because their unit depends on the metric."""
    if node is None:
        return ()
    if not isinstance(node.value, list):
        hint = "write `- {metric: ID.METRIC, max: 130 ns}`"
        if node.value is not REJECTED:
            context.findings.error("E106", f"`expect` must be a list, not {kind_of(node.value)}", node.span, hint)
        return ()
    sections = [
        Section(context, _as_map(item, context), "an expectation", _EXPECT_KEYS, ("expect", str(index)))
        for index, item in enumerate(node.value)
    ]
    _check_ids(sections)
    return tuple(_expectation(section) for section in sections if isinstance(section.node.value, dict))


def _as_map(item: Node, context: ParseContext) -> Node:
    """Return an expectation as a map. The form `ID.METRIC < 130 ns` is reported as an error and read as the map that
    was probably meant."""
    match = _COMPARISON.fullmatch(item.value) if isinstance(item.value, str) else None
    if match is None:
        return item
    metric, sign, bound = match.groups()
    key = "max" if sign == "<" else "min"
    hint = f"write `{{metric: {metric}, {key}: {bound}}}`"
    context.findings.error("E106", f"an expectation must be a map, not `{clip(item.value)}`", item.span, hint)
    return Node({"metric": item._replace(value=metric), key: item._replace(value=bound)}, item.location)


def _check_ids(sections: Sequence[Section]) -> None:
    """Report ids that are not unique. Profiles and `--set` use these ids to change expectations."""
    known: dict[str, Node] = {}
    for section in sections:
        name = section.text("id")
        if name is not None:
            node = section.members["id"]
            first = known.setdefault(name, node)
            if first is not node:
                message = f"two expectations have the id `{clip(name)}`"
                section.findings.twice("E113", message, node.span, first.span, "rename one of them")


def _expectation(section: Section) -> Expectation:
    section.required("metric", "add `metric: ID.METRIC`")
    metric = section.settled("metric") or section.node.rejected()
    if not isinstance(metric.value, str) or not metric.value:
        section.wrong(metric, "`metric`", "text", "write `ID.METRIC`")
        metric = metric.rejected()
    bound, by = _bound(section), _by(section)
    if not any((*bound, by)) and not section.hides("by") and "versus" not in section.members:
        hint = "add `min`, `max`, `no_worse_than` or `reference`"
        section.findings.error("E107", "the expectation has no bound", section.node.span, hint)
    severity = section.choice("severity", ("fail", "warn", "info"))
    missing = section.choice("if_missing", ("fail", "warn", "pass"))
    versus = "baseline" if section.choice("versus", ("baseline",)) or section.hides("versus") else None
    return Expectation(
        metric=metric,
        span=section.node.span,
        at={key: section.context.settled(node) for key, node in section.mapping("at").items()},
        bound=bound,
        by=by,
        of=_scalar(section, "of"),
        versus=cast("Literal['baseline'] | None", versus),
        severity=cast("Level", severity or "fail"),
        if_missing=cast("OnMissing", missing or "fail"),
    )


def _scalar(section: Section, key: str) -> Node | None:
    """Return the value of a key, REJECTED after an error, or None if the key is missing."""
    node = section.settled(key)
    if node is None:
        return section.members[key].rejected() if key in section.members else None
    if isinstance(node.value, list | dict):
        section.wrong(node, f"`{key}`", "one value")
        return node.rejected()
    return node


def _bound(section: Section) -> Bound:
    return Bound._make(_scalar(section, key) for key in _BOUNDS)


def _by(section: Section) -> dict[str, tuple[Node, Bound]]:
    found: dict[str, tuple[Node, Bound]] = {}
    for host, node in section.mapping("by").items():
        own = Section(section.context, node, f"`by.{clip(host)}`", _BOUNDS)
        found[host] = Node(host, node.location, node.key_span), _bound(own)
    return found


def read_safety(node: Node | None, context: ParseContext, included: Sequence[Node]) -> Safety:
    """Read the `safety:` section. Consent entries must be literal, so templates are rejected.

    `included` contains the `safety` sections of included files, without consent entries. The lowest `max_written` in
    any section applies.
    """
    sections = [_safety(item, context) for item in (*included, node) if item is not None]
    limits = [item.max_written_bytes for item in sections if item.max_written_bytes is not None]
    return Safety(sections[-1].destroys if node is not None else (), min(limits, default=None))


def _safety(node: Node, context: ParseContext) -> Safety:
    section = Section(context._replace(literal=True), node, "`safety`", ("destroys", "max_written"), ("safety",))
    destroys = section.members.get("destroys")
    if destroys is not None and not isinstance(destroys.value, list):
        section.wrong(destroys, "`destroys`", "a list", "write `- {host: ..., device: ..., serial: ...}`")
        section.findings.gaps.add(("safety", "destroys"))
    items = destroys.value if destroys is not None and isinstance(destroys.value, list) else []
    consents = [_consent(section.context, item) for item in items]
    if None in consents:
        section.findings.gaps.add(("safety", "destroys"))
    return Safety(tuple(item for item in consents if item is not None), section.size("max_written"))


def _consent(context: ParseContext, node: Node) -> Destroys | None:
    keys = ("host", "device", "serial", "overwrite", "reason")
    section = Section(context, node, "an item of `destroys`", keys, ("safety", "consent"))
    for key in ("host", "device"):
        section.required(key, "consent must name a host and a device")
    host, device = section.text("host"), section.text("device")
    serial, overwrite, reason = section.text("serial"), section.flag("overwrite"), section.text("reason")
    if device is not None and (not _DEVICE.fullmatch(device) or ".." in device):
        hint = "use the `/dev/disk/by-id/...` path on the host"
        context.findings.error("E112", f"`{clip(device)}` is not a device", section.members["device"].span, hint)
        return None
    if host is None or device is None:
        return None
    return Destroys(host, device, serial, overwrite or False, reason or "", node.span)


def read_limits(node: Node | None, context: ParseContext) -> Limits:
    """Read the `limits:` section; the default is 5,000 points."""
    if node is None:
        return Limits()
    section = Section(context, node, "`limits`", ("points", "duration"), ("limits",))
    return Limits(section.whole("points", 1, _MOST_POINTS) or Limits().points, section.duration("duration"))


def read_report(node: Node | None, context: ParseContext) -> ReportSpec:
    """Read the `report:` section; the default formats are html and markdown."""
    if node is None:
        return ReportSpec()
    section = Section(context, node, "`report`", ("title", "formats", "features"), ("report",))
    known = tuple(report_formats())
    formats = [section.chosen(item, "formats", known) for item in section.text_nodes("formats")]
    distinct = tuple(dict.fromkeys(name for name in formats if name is not None))
    chosen = distinct if "formats" in section.members else ReportSpec().formats
    return ReportSpec(section.text("title"), chosen, _features(section))


def _features(report: Section) -> Mapping[str, Mapping[str, str]]:
    node = report.members.get("features")
    if node is None:
        return {}
    section = Section(report.context, node, "`features`", None, ("report", "features"))
    return {name: section.labels(name, "feature") for name in section.members}


def read_baseline(node: Node | None, context: ParseContext) -> tuple[Node | None, bool]:
    """Return the run in `baseline: {run: ...}` (a path, `latest` or a label), and whether regressions are measured
    again."""
    if node is None:
        return None, True
    section = Section(context, node, "`baseline`", ("run", "confirm"), ("baseline",))
    section.required("run", "add `run: PATH`; PATH may also be `latest` or a label")
    confirm = section.flag("confirm")
    return section.settled("run") if section.text("run") is not None else node.rejected(), confirm is not False


def read_inputs(section: Section) -> tuple[str, ...]:
    """Return the names of the environment variables that `${env.NAME}` may read."""
    found: list[str] = []
    for node in section.items("inputs"):
        if isinstance(node.value, str) and IDENTIFIER.fullmatch(node.value):
            found.append(node.value)
        elif node.value is not REJECTED:
            section.findings.gaps.add(("inputs",))
            hint = "write `inputs: [NAME]`"
            section.findings.error("E112", f"{kind_of(node.value)} is not an environment variable", node.span, hint)
    return tuple(found)


RETRY_KEYS: Final = ("max", "on")
EXECUTION_KEYS: Final = ("repeats", "warmup", "timeout", "retry", "order", "strict")
DEFAULTS: Final = Execution(repeats=1, warmup=0, retry=Retry(), order="interleaved", strict=False)

_MOST_REPEATS: Final = 100_000


def read_execution(section: Section) -> Execution:
    """Read the execution keys of a map. Missing keys are None."""
    timeout = section.duration("timeout")
    if timeout == 0:
        message, hint = "a time limit of 0 would stop every point immediately", "use a longer time limit, such as `15m`"
        section.findings.error("E112", message, section.members["timeout"].span, hint)
    return Execution(
        repeats=section.whole("repeats", 1, _MOST_REPEATS),
        warmup=section.whole("warmup", 0, _MOST_REPEATS),
        timeout_s=timeout,
        retry=_retry(section),
        order=cast("Order | None", section.choice("order", ORDERS)),
        strict=section.flag("strict"),
    )


def filled(execution: Execution, below: Execution = DEFAULTS) -> Execution:
    """Return `execution`, with its missing values filled in from `below`."""
    return Execution._make(low if own is None else own for own, low in zip(execution, below, strict=True))


def _retry(section: Section) -> Retry | None:
    node = section.members.get("retry")
    if node is None:
        return None
    retry = Section(section.context, node, "`retry`", RETRY_KEYS, (*section.path, "retry"))
    causes = [retry.chosen(item, "on", RETRY_ON) for item in retry.text_nodes("on")]
    most = retry.whole("max", 0, 100)
    on = tuple(cause for cause in causes if cause is not None)
    return Retry(max=1 if most is None else most, on=on or ("host-lost", "timeout"))
