"""Markdown on a terminal, with and without color, and in a pipe. Markup that would be hard to read is removed."""

from __future__ import annotations

import re

import pytest

from asct.cli.markdown import reflowed
from asct.diagnostics.codes import all_codes
from asct.registry import installed
from tests.cli.conftest import Asct

TEXT = """\
# A title

Some *emphasized* and **strong `words`**, `code *as it is*`, and a [link](page.md).

## A part

1. **First.** It has `code`
   on two lines.
2. The second.

| name | meaning |
|---|---|
| `a` | first |
| `long_name` | a \\| b |

```yaml
a: *b
```
"""
ESCAPES = re.compile("\x1b\\[[0-9;]*m")


def test_marks_become_plain_text() -> None:
    assert reflowed(TEXT, 60) == (
        "A title\n\n"
        "Some emphasized and strong `words`, `code *as it is*`, and a\nlink (page.md).\n\n"
        "A PART\n\n"
        "1. First. It has `code` on two lines.\n2. The second.\n\n"
        "name         meaning\n`a`          first\n`long_name`  a | b\n\n"
        "    a: *b"
    )


def test_colour_takes_the_place_of_marks_and_changes_no_width() -> None:
    text = reflowed(TEXT, 60, colour=True)
    assert "\x1b[1mA title\x1b[0m" in text and "\x1b[36mcode *as it is*\x1b[0m" in text
    assert "\x1b[3memphasized\x1b[0m" in text and "\x1b[1mFirst.\x1b[0m" in text
    plain = ESCAPES.sub("", text)
    assert "name       meaning\na          first\nlong_name  a | b" in plain
    assert "`" not in plain and "\x1b" not in plain


def test_a_table_that_does_not_fit_becomes_indented_text() -> None:
    assert reflowed("| a | b |\n|---|---|\n| `x` | one two |\n", 8) == "`x`\n    one\n    two"


@pytest.mark.parametrize("name", [*(item.name for item in installed().infos), *all_codes()])
def test_nothing_of_asct_is_shown_raw(asct: Asct, name: str) -> None:
    colourless = asct("explain", name).out
    coloured = asct("explain", name, "--color", "always").out
    assert "\x1b" not in colourless
    for text in (colourless, ESCAPES.sub("", coloured)):
        prose = [re.sub("`[^`]*`", "", line) for line in text.splitlines() if not line.startswith(" ")]
        assert [line for line in prose if re.search(r"^(#|```|\|)|\*\*|\]\(|(^|\s)\*\w", line)] == []
    assert len(coloured) > len(colourless)
