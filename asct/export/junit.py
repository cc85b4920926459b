"""JUnit XML for CI servers: one test case per point of each job, and one per expectation."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from statistics import median

from asct.analysis.expectations import is_blocking
from asct.analysis.grid import coordinates_text, plain
from asct.analysis.verdict import measured_text
from asct.analysis.view import JobView, RepeatView, RunView
from asct.sdk.record import Record
from asct.store.model import Verdict
from asct.values.grouping import grouped

NAME = "junit"
FILE = "junit.xml"
SUMMARY = "a test case per point and per expectation, for CI servers"

_FORBIDDEN = re.compile("[\ufffe\uffff]")
"""Characters that XML does not allow and that `plain` does not replace."""
_MOST_PROPERTIES = 100


def render(view: RunView) -> str:
    """Return one suite per job, followed by one for the expectations.

    A failed point is an error; a failed expectation is a failure.
    """
    root = ET.Element("testsuites", {"name": _clean(view.run.plan)})
    for job in view.jobs:
        _job_suite(root, job)
    if view.run.verdicts:
        suite = ET.SubElement(root, "testsuite", {"name": "expectations"})
        for verdict in view.run.verdicts:
            _verdict_case(suite, verdict)
    for element in root:
        _count(element)
    _count(root)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _clean(text: object) -> str:
    """Return text that XML 1.0 allows (section 2.2), without characters that control a terminal or change the text
    direction."""
    return _FORBIDDEN.sub("�", plain(str(text), keep_lines=True))


def _job_suite(root: ET.Element, job: JobView) -> None:
    suite = ET.SubElement(root, "testsuite", {"name": _clean(job.key), "hostname": _clean(job.entry.host)})
    points = grouped(job.repeats, lambda item: item.point_id)
    for point_id, repeats in points.items():
        _point_case(suite, job, point_id, repeats)
    missing = job.entry.points - len(points)
    if missing > 0:
        case = _case(suite, f"{missing} point{'' if missing == 1 else 's'} not started", job.key, 0.0)
        ET.SubElement(case, "skipped", {"message": _clean(job.entry.reason or "not measured")})


def _point_case(suite: ET.Element, job: JobView, point_id: str, repeats: list[RepeatView]) -> None:
    swept = coordinates_text(next((item.command.swept for item in repeats if item.command), {}))
    seconds = sum(item.status.elapsed_s for item in repeats if item.status)
    case = _case(suite, swept or job.entry.id, job.key, seconds)
    _properties(case, job, point_id)
    bad = [item for item in repeats if not item.measured]
    if not bad:
        return
    states = [item.status.status if item.status else "not finished" for item in bad]
    kind = "skipped" if set(states) == {"skipped"} else "error"
    diagnostic = next((item.status.diagnostic for item in bad if item.status and item.status.diagnostic), None) or {}
    message = str(
        diagnostic.get("message") or f"{len(bad)} of {len(repeats)} repeats: {', '.join(sorted(set(states)))}"
    )
    problem = ET.SubElement(case, kind, {"message": _clean(message)})
    if kind == "error":
        problem.set("type", states[0])
        hint = diagnostic.get("hint")
        problem.text = _clean("\n".join([*([f"hint: {hint}"] if hint else []), *(item.folder for item in bad)]))


def _properties(case: ET.Element, job: JobView, point_id: str) -> None:
    """Add the median of every metric of the point, in base units."""
    values = grouped((record for record in job.records if record.point_id == point_id), _property_name)
    if values:
        holder = ET.SubElement(case, "properties")
        for name, found in list(values.items())[:_MOST_PROPERTIES]:
            value = median(record.value for record in found)
            ET.SubElement(holder, "property", {"name": _clean(name), "value": f"{value:.6g}"})


def _property_name(record: Record) -> str:
    at = coordinates_text(record.coords)
    return f"{record.metric}[{at}] {record.unit}" if at else f"{record.metric} {record.unit}"


def _verdict_case(suite: ET.Element, verdict: Verdict) -> None:
    at = coordinates_text(verdict.at)
    name = f"{verdict.id}.{verdict.metric}" + (f" at {at}" if at else "")
    case = _case(suite, name, f"expectations.{verdict.host}" if verdict.host else "expectations", 0.0)
    if verdict.file:
        case.set("file", _clean(verdict.file))
    if verdict.line:
        case.set("line", str(verdict.line))
    if verdict.outcome == "pass":
        return
    message = "; ".join(filter(None, (measured_text(verdict), verdict.reason)))
    blocking = is_blocking(verdict)
    kind = "skipped" if not blocking else "failure" if verdict.outcome == "fail" else "error"
    problem = ET.SubElement(case, kind, {"message": _clean(message)})
    if blocking:
        problem.set("type", verdict.outcome)
        problem.text = _clean(verdict.text)


def _case(suite: ET.Element, name: str, group: str, seconds: float) -> ET.Element:
    attributes = {"name": _clean(name), "classname": _clean(group.replace("/", ".")), "time": f"{seconds:.3f}"}
    return ET.SubElement(suite, "testcase", attributes)


def _count(element: ET.Element) -> None:
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(1 for case in cases if case.find(tag) is not None)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
