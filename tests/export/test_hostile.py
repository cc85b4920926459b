"""Reports on a tree in which every text is hostile: no text can affect the structure of any format."""

from __future__ import annotations

import csv
import json
import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from asct.analysis.view import RunView, open_view
from asct.cli.console import harmless
from asct.errors import StoreError, UsageError
from asct.export import documents_of, render, write
from asct.plan.formats import report_formats
from asct.values.quantity import format_quantity
from tests.export.conftest import Viewer
from tests.export.fakes import Fakes
from tests.export.hostile import TEXT, spoil
from tests.export.sample import Sample, write_sample

BINARY = {"parquet", "png"}
TEXTS = [name for name in report_formats() if name not in BINARY]
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
SAMPLE = Sample(hosts=("a", "b"), fail_depth=8)


@pytest.fixture(scope="module", params=[False, True], ids=["tables", "plain-tables"])
def spoiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunView:
    root = write_sample(tmp_path_factory.mktemp("hostile"), SAMPLE)
    spoil(root, version=request.param)
    view = open_view(root, Fakes())
    assert [note.message for note in view.notes] == []  # the whole tree is as asct writes it
    assert TEXT in view.run.title and TEXT in view.facts["b"].cpu.model
    return view


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_steers_a_terminal(spoiled: RunView, name: str, tmp_path: Path) -> None:
    try:
        documents = documents_of(spoiled, [name], tmp_path)[name]
    except UsageError as error:
        assert error.diagnostics[0].code == "E711"  # plain tables have no figures
        return
    for content in documents.values():
        assert STEERING.findall(content if isinstance(content, str) else content.decode()) == []


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    return page


def test_html_has_its_own_elements_alone(spoiled: RunView, tmp_path: Path) -> None:
    clean = parsed(str(render(open_view(write_sample(tmp_path, SAMPLE), Fakes()), "html")))
    page = parsed(str(render(spoiled, "html")))
    assert set(page.tags) <= set(clean.tags)
    assert page.tags["script"] in (6, 8)
    assert {name for name, _ in page.attributes} <= {name for name, _ in clean.attributes}
    targets = {value for name, value in page.attributes if name in ("href", "src")}
    assert [one for one in targets if not one.startswith("#")] == []
    ids = Counter(value for name, value in page.attributes if name == "id")
    assert [one for one, count in ids.items() if count > 1] == []


def inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from inline(token.children or [])


def test_markdown_is_text(spoiled: RunView, tmp_path: Path) -> None:
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    clean = reader.parse(str(render(open_view(write_sample(tmp_path, SAMPLE), Fakes()), "markdown")))
    tokens = list(inline(reader.parse(str(render(spoiled, "markdown")))))
    own = {"<details>", "</details>", "<summary>", "</summary>", "<!-- -->"}
    markup = {part for one in tokens if one.type.startswith("html_") for part in re.findall("<[^>]*>", one.content)}
    assert markup <= own
    count = Counter(one.type for one in tokens)
    assert not {"link_open", "image", "s_open", "hr", "softbreak", "hardbreak", "fence", "code_block"} & set(count)
    assert count["heading_open"] <= Counter(one.type for one in clean)["heading_open"] + 2
    for one in tokens:
        if one.type == "text":  # as GitHub sees it: a mention counts even if a backslash preceded it
            assert not re.search(r"@\w|#\d|GH-\d", one.content)
    apart = MarkdownIt("commonmark").enable("table").disable("text_join")
    for one in inline(apart.parse(str(render(spoiled, "markdown")))):
        if one.type == "text":  # the search for addresses comes before backslashes are removed
            assert not re.search(r"(?i)www\.|https?://|ftp://", one.content)


def test_csv_has_no_formula(spoiled: RunView, tmp_path: Path) -> None:
    for path in write(spoiled, "csv", tmp_path):
        with path.open(newline="") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert len(cells) > 10
        assert [one for one in cells if re.match(r"[=@\t\n\r]", one)] == []


def test_documents_mean_what_was_written(spoiled: RunView) -> None:
    body = json.loads(str(render(spoiled, "json")))
    assert body["run"]["title"] == spoiled.run.title
    lines = [json.loads(line) for line in str(render(spoiled, "jsonl")).split("\n")[:-1]]
    assert [line["plan"] for line in lines] == [record.plan for record in spoiled.records]


def test_junit_is_xml(spoiled: RunView) -> None:
    root = ET.fromstring(str(render(spoiled, "junit")))
    assert {one.tag for one in root.iter()} == {
        "testsuites", "testsuite", "testcase", "system-out", "error", "failure", "skipped",
    }  # fmt: skip
    assert any("<img src=x onerror=" in str(one.get("message")) for one in root.iter("error"))


def orders(text: str) -> list[str]:
    """Return the commands that GitHub's runner finds in the output of a step (actions/runner, ActionCommand.cs)."""
    found = []
    for line in re.split("\r\n|\r|\n", text):
        if match := re.match(r"\s*::([^ :]+)( [^:]*)?::", line) or re.search(r"##\[([^\] ]+)[^\]]*\]", line):
            found.append(match[1])
    return found


def test_annotations_are_annotations(spoiled: RunView) -> None:
    text = str(render(spoiled, "github"))
    found = orders(text)
    assert len(found) == len(text.splitlines())
    assert set(found) <= {"error", "warning", "notice"}


def test_words_of_a_host_command_no_workflow(spoiled: RunView, monkeypatch: pytest.MonkeyPatch) -> None:
    text = str(render(spoiled, "stdout"))
    assert "add-mask" in orders(text)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert orders(str(harmless(text))) == []


RESERVED = (
    "announce", "downloads", "page-data-gzip", "plan-gzip", "plotly-gzip", "run-data-gzip", "verdict", "hosts", "main",
    "findings", "appendix",
)  # fmt: skip


@pytest.mark.parametrize("name", RESERVED)
def test_entries_do_not_take_the_places_of_the_page(view: Viewer, name: str) -> None:
    run = view()
    jobs = [job.model_copy(update={"id": name}) for job in run.run.jobs[:1]]
    document = run.run.model_copy(update={"jobs": [*jobs, *run.run.jobs[1:]]})
    (run.root / "run.json").write_text(document.model_dump_json(by_alias=True))
    page = parsed(str(render(open_view(run.root, Fakes()), "html")))
    ids = Counter(value for key, value in page.attributes if key == "id")
    assert ids[name] == 1
    assert ids[f"{name}-2"] == 1


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "", "a/b", "x" * 300, "<b>"])
@pytest.mark.parametrize("key", ["benchmark", "host", "id"])
def test_names_of_jobs_lead_nowhere(view: Viewer, key: str, name: str) -> None:
    run = view()
    body = json.loads((run.root / "run.json").read_text())
    body["jobs"][0][key] = name
    (run.root / "run.json").write_text(json.dumps(body))
    with pytest.raises(StoreError) as error:
        open_view(run.root, Fakes())
    assert error.value.diagnostics[0].code == "E510"


def test_a_half_of_a_character_is_shown(view: Viewer, tmp_path: Path) -> None:
    """JSON may contain one half of a UTF-16 surrogate pair, which no UTF-8 file can contain."""
    run = view()
    body = json.loads((run.root / "run.json").read_text())
    body["findings"][0]["message"] = "half \ud800"
    (run.root / "run.json").write_text(json.dumps(body))
    again = open_view(run.root, Fakes())
    for name in TEXTS:
        for path in write(again, name, tmp_path / name):
            assert path.stat().st_size > 0


def test_a_unit_of_others_stands_behind_the_number() -> None:
    assert format_quantity(12345.678, "widgets", 4) == "12346 widgets"


def test_a_report_is_not_written_through_a_planted_link(view: Viewer, tmp_path: Path) -> None:
    run, target, kept = view(), tmp_path / "out", tmp_path / "kept"
    target.mkdir()
    kept.write_text("kept")
    (target / f".summary.md.{os.getpid()}.tmp").symlink_to(kept)
    (target / "report.html").symlink_to(kept)
    with pytest.raises(StoreError):
        write(run, "markdown", target)
    [path] = write(run, "html", target)
    assert (kept.read_text(), path.is_symlink()) == ("kept", False)
