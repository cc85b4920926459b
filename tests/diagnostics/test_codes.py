from __future__ import annotations

import re

import pytest

from asct.diagnostics.codes import all_codes, lookup, merge
from asct.diagnostics.codetext import CodeText

ONE = CodeText("a title", "A text.")


def test_every_code_explains_itself() -> None:
    assert all_codes() == sorted(all_codes())
    for code in all_codes():
        found = lookup(code)
        assert found is not None
        assert re.fullmatch(r"E[1-9][0-9]{2}", code)
        assert not found.title.endswith(".")
        assert len(found.text) > 40


def test_an_unknown_code() -> None:
    assert lookup("E000") is None


def test_a_code_that_two_parts_claim() -> None:
    with pytest.raises(ValueError, match="E101 is claimed by codes_a and by codes_b"):
        merge([("codes_a", {"E101": ONE}), ("codes_b", {"E101": ONE})])


@pytest.mark.parametrize("code", ["E1", "E1000", "101", "W101", "E001"])
def test_a_malformed_code(code: str) -> None:
    with pytest.raises(ValueError, match="is not an error code"):
        merge([("codes_a", {code: ONE})])


def test_merged_codes_are_sorted() -> None:
    assert list(merge([("b", {"E300": ONE}), ("a", {"E200": ONE})])) == ["E200", "E300"]
