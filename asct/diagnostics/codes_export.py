"""Texts of the codes E7xx: reports."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E701": CodeText(
        "part of a run cannot be read",
        "The report leaves out what could not be read (the plan as it was written) and shows the rest. Check the "
        "permissions of the run's folder; `asct results verify RUN` lists all that is damaged.",
    ),
    "E702": CodeText(
        "unknown report format",
        "There is no report format of this name. `asct list formats` shows the formats and the files they write.",
    ),
    "E703": CodeText(
        "format cannot be printed",
        "This format writes several files, so it cannot go to standard output. Name a folder with `--output-dir`.",
    ),
    "E704": CodeText(
        "format needs a further package",
        "This format needs a Python package that asct does not bring by itself because it is large. "
        "`pip install 'asct[query]'` installs it; all other formats work without.",
    ),
}
