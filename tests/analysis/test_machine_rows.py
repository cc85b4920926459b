"""The rows in the description of a machine."""

from __future__ import annotations

from asct.analysis.machine.rows import section


def test_of_a_value_that_never_ends_its_beginning_is_shown() -> None:
    [(label, text), second] = section("CPU", [("Model", "x" * 1_000_000), ("Flags", "y " * 2000), ("None", "")]).rows
    assert (label, second) == ("Model", ("Flags", "y " * 2000))
    assert text == f"{'x' * 8000} ... (992000 more characters)"
