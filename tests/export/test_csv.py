"""Text from a host in CSV: nothing in it may affect a terminal or a spreadsheet."""

from __future__ import annotations

import csv
import io

import pytest

from asct.cli.files import csv_text
from asct.export.csv import machine_text

KEPT = ["", "-", "+", "-5", "+1.5e-3", "-.5", "a=b", "/dev/sda", "0-3,8", 'say "x", then', "two\nlines", "µs"]
CHANGED = {
    "=HYPERLINK(1)": "'=HYPERLINK(1)",
    "@SUM(1)": "'@SUM(1)",
    "+1+cmd|' /c x'!A0": "'+1+cmd|' /c x'!A0",
    "-2+3": "'-2+3",
    "--color": "'--color",
    "\t=1": "'\t=1",
    "\x1b[2J\x9b31m": "\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}31m",
    "\u202egnp\x00": "\N{REPLACEMENT CHARACTER}gnp\N{REPLACEMENT CHARACTER}",
    "\r=1": " =1",
}


@pytest.mark.parametrize(("value", "shown"), [*((value, value) for value in KEPT), *CHANGED.items()])
def test_words_of_a_host_do_nothing(value: str, shown: str) -> None:
    assert list(csv.reader(io.StringIO(machine_text({"field": value})))) == [["field", shown]]
    assert list(csv.DictReader(io.StringIO(csv_text(["name"], [{"name": value}])))) == [{"name": shown}] or not value


def test_numbers_stay_numbers() -> None:
    assert machine_text({"a": -5, "b": None, "c": 1.5, "d": True}) == "a,-5\nb,\nc,1.5\nd,True\n"
