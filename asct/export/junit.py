"""JUnit XML for CI servers: one test case per point of each job, and one per expectation.

The file conforms to junit-10.xsd from Jenkins' xUnit plugin (jenkinsci/xunit-plugin), which allows neither properties
nor locations in a test case. If the run has a nonzero exit code, the file contains at least one failure or error.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from statistics import median

from asct.analysis.expectations import is_blocking
from asct.analysis.grid import coordinates_text, plain
from asct.analysis.provenance import text_at, unstarted
from asct.analysis.verdict import measured_text, summarize, word_of
from asct.analysis.view import JobView, RepeatView, RunView
from asct.sdk.record import Record
from asct.store.model import Verdict
from asct.values.grouping import grouped

NAME = "junit"
FILE = "junit.xml"
SUMMARY = "a test case per point and per expectation, for CI servers"

_FORBIDDEN = re.compile("[\ufffe\uffff]")
"""Matches the characters that XML does not allow and that `plain` does not replace."""
_MOST_VALUES = 100
_BAD = ("error", "failure")


def render(view: RunView) -> str:
    """Return one suite per job, followed by one for the expectations.

    A point that is treated as not measured is an error, whose type is the point's status. A failed expectation is a
    failure.
    """
    root = ET.Element("testsuites", {"name": _clean(view.run.plan)})
    for job in view.jobs:
        _job_suite(root, job)
    if view.run.verdicts:
        suite = ET.SubElement(root, "testsuite", {"name": "expectations"})
        for verdict in view.run.verdicts:
            _verdict_case(suite, verdict)
    if view.run.exit_code != 0 and all(case.find(kind) is None for case in root.iter("testcase") for kind in _BAD):
        _run_suite(root, view)
    for element in root:
        _count(element)
        element.set("skipped", str(sum(1 for _ in element.iter("skipped"))))
    _count(root)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _run_suite(root: ET.Element, view: RunView) -> None:
    """Add an error for a run that failed even though no point and no expectation failed, for example because the run
    was killed."""
    causes = [text_at(item, "code") + " " + text_at(item, "message") for item in view.run.findings
              if text_at(item, "severity") != "note"]  # fmt: skip
    suite = ET.SubElement(root, "testsuite", {"name": "run"})
    _problem(_case(suite, "run", "run", 0.0), "error", view.run.status, summarize(view).sentence, causes)


def _clean(text: object) -> str:
    """Return text that XML 1.0 allows (section 2.2), without characters that control a terminal or change the text
    direction."""
    return _FORBIDDEN.sub("�", plain(str(text), keep_lines=True))


def _job_suite(root: ET.Element, job: JobView) -> None:
    suite = ET.SubElement(root, "testsuite", {"name": _clean(job.key), "hostname": _clean(job.entry.host)})
    for point_id, repeats in grouped(job.repeats, lambda item: item.point_id).items():
        _point_case(suite, job, point_id, [item for item in repeats if item.repeat >= 1 or not item.valued])
    for left in unstarted(job):
        case = _case(suite, f"{left.label} not started", job.key, 0.0)
        _problem(case, "error", left.status, left.message)


def _point_case(suite: ET.Element, job: JobView, point_id: str, repeats: Sequence[RepeatView]) -> None:
    swept = coordinates_text(next((item.command.swept for item in repeats if item.command), {}))
    seconds = sum(item.status.elapsed_s for item in repeats if item.status)
    case = _case(suite, swept or job.entry.id, job.key, seconds)
    # A failed warm-up (repeat 0 or lower) does not affect the outcome of a point.
    bad = [item for item in repeats if item.repeat >= 1 and not item.measured]
    words = Counter(item.word for item in repeats)
    counts = ", ".join(f"{number} {word}" for word, number in words.items())
    if bad:
        hints = (text_at((item.status and item.status.diagnostic) or {}, "hint") for item in bad)
        details = [*(f"hint: {hint}" for hint in dict.fromkeys(hints) if hint),
                   *(f"{item.word}: {item.folder}: {item.cause}" for item in bad)]  # fmt: skip
        _problem(case, "error", bad[0].word, bad[0].cause or counts, details)
    lines = [f"repeats: {counts}", *_values(job, point_id)]
    ET.SubElement(case, "system-out").text = _clean("\n".join(lines))


def _problem(case: ET.Element, kind: str, word: str, message: str, lines: Sequence[str] = ()) -> None:
    problem = ET.SubElement(case, kind, {"type": _clean(word), "message": _clean(message)})
    problem.text = _clean("\n".join(lines)) or None


def _values(job: JobView, point_id: str) -> list[str]:
    """Return the median of every metric of the point, in base units."""
    values = grouped((record for record in job.records if record.point_id == point_id), _name_of)
    return [
        f"{name}: {median(record.value for record in found):.6g}" for name, found in [*values.items()][:_MOST_VALUES]
    ]


def _name_of(record: Record) -> str:
    at = coordinates_text(record.coords)
    return f"{record.metric}[{at}] {record.unit}" if at else f"{record.metric} {record.unit}"


def _verdict_case(suite: ET.Element, verdict: Verdict) -> None:
    at = coordinates_text(verdict.at)
    name = f"{verdict.id}.{verdict.metric}" + (f" at {at}" if at else "")
    case = _case(suite, name, f"expectations.{verdict.host}" if verdict.host else "expectations", 0.0)
    if verdict.outcome == "pass":
        return
    message = "; ".join(filter(None, (measured_text(verdict), verdict.reason)))
    kind = "skipped" if not is_blocking(verdict) else "failure" if verdict.outcome == "fail" else "error"
    place = ":".join(str(part) for part in (verdict.file, verdict.line) if part)
    _problem(case, kind, word_of(verdict), message, [": ".join(filter(None, (place, verdict.text)))])


def _case(suite: ET.Element, name: str, group: str, seconds: float) -> ET.Element:
    attributes = {"name": _clean(name), "classname": _clean(group.replace("/", ".")), "time": f"{seconds:.3f}"}
    return ET.SubElement(suite, "testcase", attributes)


def _count(element: ET.Element) -> None:
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error")):
        element.set(attribute, str(sum(1 for case in cases if case.find(tag) is not None)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
