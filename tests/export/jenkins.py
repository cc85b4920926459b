"""What Jenkins accepts as JUnit XML: the rules of junit-10.xsd (jenkinsci/xunit-plugin, commit 031e285,
src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd), and a function that checks a document against them.

Only elements that describe reruns of a test are missing, because asct does not write them.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """The attributes and child elements of an element, and whether it may contain text."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    text: bool = False


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PROBLEM = Rule(optional=words("type message"), text=True)
RULES = {
    "testsuites": Rule(optional=words("name time tests failures errors"), children=words("testsuite")),
    "testsuite": Rule(
        words("name tests failures errors"),
        words("group time skipped timestamp hostname id package file log url"),
        words("testsuite properties testcase system-out system-err"),
    ),
    "testcase": Rule(
        words("name"),
        words("time classname group"),
        words("skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err"),
    ),
    "properties": Rule(children=words("property")),
    "property": Rule(words("name value")),
    "skipped": PROBLEM,
    "error": PROBLEM,
    "failure": PROBLEM,
    "system-out": Rule(text=True),
    "system-err": Rule(text=True),
}
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")
"""Matches `time` of a suite. In a test case, `time` may be any text."""


def violations(element: ET.Element, place: str = "") -> list[str]:
    """Return all deviations in an element and in everything below it."""
    rule, place = RULES.get(element.tag), f"{place}/{element.tag}"
    if rule is None:
        return [f"{place}: unknown element"]
    found = [f"{place}@{name}: missing" for name in rule.required - element.attrib.keys()]
    found += [f"{place}@{name}: not allowed" for name in element.attrib.keys() - rule.required - rule.optional]
    found += [f"{place}/{child.tag}: not allowed" for child in element if child.tag not in rule.children]
    spoken = "".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    found += [f"{place}: contains text"] if spoken and not rule.text else []
    if element.tag in ("testsuites", "testsuite") and not TIME.fullmatch(element.get("time", "")):
        found.append(f"{place}@time: {element.get('time')}")
    return [*found, *(text for child in element for text in violations(child, place))]
