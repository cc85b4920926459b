from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asct.analysis.problems import problem_of
from asct.diagnostics.model import Diagnostic, Span
from asct.diagnostics.render import annotation
from asct.export.github import annotate


def test_place_title_message_and_hint() -> None:
    item = Diagnostic("E104", "unknown key `a`", Span("x.yaml", 5, 3), hint="did you mean `b`?")
    others = [problem_of(Diagnostic("E702", "no", severity="note"))] * 11
    assert annotate([problem_of(item), *others], "see the log").splitlines() == [
        "::error file=x.yaml,line=5,col=3,title=E104::unknown key `a` (did you mean `b`?)",
        *["::notice title=E702::no"] * 10,
        "::notice title=asct::1 more notice: see the log",
    ]


def test_what_others_wrote_is_escaped() -> None:
    line = annotation("warning", "a:b,c", "50 %\nnext\x1b[31m", ("odd,name:1.yaml", None, None))
    assert line == "::warning file=odd%2Cname%3A1.yaml,title=a%3Ab%2Cc::50 %25%0Anext\ufffd[31m"


@given(st.text(), st.text(min_size=1), st.text())
def test_one_line_whatever_the_text(file: str, title: str, message: str) -> None:
    line = annotation("error", title, message, (file, 1, None))
    assert line.isprintable()
    properties, _, _ = line.removeprefix("::error ").partition("::")
    assert {part.partition("=")[0] for part in properties.split(",")} <= {"file", "line", "title"}
