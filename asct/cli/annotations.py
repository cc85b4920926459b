"""Diagnostics as annotations of GitHub's workflow runs (docs.github.com, workflow commands)."""

from __future__ import annotations

from asct.diagnostics.model import Diagnostic


def github_line(item: Diagnostic) -> str:
    """`::error file=x.yaml,line=5,col=5,title=E104::message`; `%`, CR, LF, and `:` and `,` in properties escaped."""
    kind = {"error": "error", "warning": "warning", "note": "notice"}[item.severity]
    properties = {"title": item.code}
    if item.span is not None:
        properties = {"file": item.span.file, "line": str(item.span.line), "col": str(item.span.column), **properties}
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    text = item.message + (f" ({item.hint})" if item.hint else "")
    return f"::{kind} {listed}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
