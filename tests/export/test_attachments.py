"""Results that leave the results tree: pages that contain their data, archives, and copies without secrets."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from asct.analysis.combined import figure_grids
from asct.analysis.grid import NO_VALUE, ColumnHead, TableCell, TextTable
from asct.analysis.redaction import Redaction, redaction_of
from asct.analysis.view import RunView, open_view
from asct.errors import StoreError, UsageError
from asct.export import get, render, write_all
from asct.figures.axes import Neighbors, axis_text
from asct.plan.formats import report_formats
from asct.sdk.disturbance import Disturbances
from asct.sdk.facts import BlockDevice, HostFacts, Interface, Mount, Network, Product
from asct.sdk.figure import Axis, Line, Series
from asct.sdk.record import Record
from asct.store.copies import readable, redacted_copy, write_bundle
from asct.store.model import Run, Status
from asct.store.reader import read_run
from asct.store.verify import verify
from tests.export.fakes import Fakes, sample_view
from tests.export.sample import Sample, write_sample

HOSTS = ("zeus-lab7", "juno-22")
COMMAND_LINE = "BOOT_IMAGE=/vmlinuz-6.1 root=/dev/sda1 password_of=hunter2"
SECRETS = (
    "zeus-lab7", "juno-22", "corp.example.com", "olympus", "mallory", "10.1.2.3", "2001:db8::17", "02:42:ac:11:00:02",
    "S6XZNX0R123456", "QWERTZUIOPASDF", "123e4567-e89b-12d3-a456-426614174000", "hunter2", "gateway9",
)  # fmt: skip
PLANTED = (
    " at zeus-lab7, ZEUS-LAB7.corp.example.com, juno-22:9100 and olympus by mallory@gateway9.corp.example.com"
    " (mallory):"
    " /home/mallory/x, 10.1.2.3, 2001:db8::17, 02:42:ac:11:00:02, S6XZNX0R123456, QWERTZUIOPASDF,"
    f" 123e4567-e89b-12d3-a456-426614174000, {COMMAND_LINE}"
)
MODELS: dict[str, type[BaseModel]] = {
    "run": Run, "status": Status, "facts": HostFacts, "disturbances": Disturbances, "record": Record,
}  # fmt: skip
IDENTITIES = {
    "schema", "run", "plan", "host", "id", "point_id", "raw", "benchmark", "metric", "unit", "transport", "t", "name",
    "started_at", "ended_at", "files", "records_sha256", "code", "version", "hostname", "serial", "uuid", "mac",
    "ipv6", "aliases", "address", "command_line",
}  # fmt: skip
"""Fields whose values connect the documents, are words defined by asct, or are secrets."""


def planted(value: Any, valid: Callable[[Any], bool], whole: Any) -> None:
    """Add the secrets to every text in a document that may be any text."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(key, str) and key in IDENTITIES:
            continue
        if isinstance(item, dict | list):
            planted(item, valid, whole)
        elif isinstance(item, str):
            value[key] = item + PLANTED
            if not valid(whole):
                value[key] = item


def spoil(path: Path) -> None:
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    found = []
    for line in lines:
        body = json.loads(line)
        kind = str(body.get("schema", "")).removeprefix("asct.").partition("/")[0]

        def valid(whole: Any, kind: str = kind) -> bool:
            try:
                return kind not in MODELS or bool(MODELS[kind].model_validate_json(json.dumps(whole)))
            except ValidationError:
                return False

        planted(body, valid, body)
        found.append(json.dumps(body))
    path.write_text("\n".join(found) + "\n")


def secretive(host: str, facts: HostFacts) -> HostFacts:
    system = facts.system.model_copy(
        update={"hostname": f"{host}.corp.example.com", "command_line": COMMAND_LINE,
                "product": Product(serial="QWERTZUIOPASDF", uuid="123e4567-e89b-12d3-a456-426614174000")}
    )  # fmt: skip
    network = Network(
        aliases={"10.1.2.3": ["olympus"]},
        interfaces=[Interface(name="eth0", kind="ethernet", mac="02:42:ac:11:00:02", ipv6=["2001:db8::17/64"])],
    )
    drives = [BlockDevice(name="nvme0n1", kind="disk", serial="S6XZNX0R123456")]
    mounts = [
        Mount(source="//gateway9.corp.example.com/x", target="/home/mallory", type="cifs", options=["user=mallory"])
    ]
    return facts.model_copy(update={"system": system, "network": network, "block_devices": drives, "mounts": mounts})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a run with secrets in every field and file."""
    root = write_sample(tmp_path / "results", Sample(hosts=HOSTS, fail_depth=8))
    for host in HOSTS:
        path = root / "facts" / f"{host}.json"
        path.write_text(secretive(host, HostFacts.model_validate_json(path.read_text())).model_dump_json(by_alias=True))
        (root / "facts" / host).mkdir()
        (root / "facts" / host / "snapshot.txt").write_text("an unknown serial number: XQ77" + PLANTED)
    run = json.loads((root / "run.json").read_text())
    for host in run["hosts"]:
        host["address"] = "mallory@10.1.2.3"
    (root / "run.json").write_text(json.dumps(run))
    resolved = json.loads((root / "plan.resolved.json").read_text())
    (root / "plan.resolved.json").write_text(json.dumps({**resolved, "baseline": "golden"}))
    event = {"t": "point-ended", "host": "zeus-lab7", "id": "latency-sweep", "status": "ok", "note": "done"}
    (root / "journal.jsonl").write_text(json.dumps(event) + "\n")
    for path in [*root.rglob("*.json"), *root.rglob("*.jsonl")]:
        spoil(path)
    (root / "plan.yaml").write_text((root / "plan.yaml").read_text() + f"# {PLANTED}\n")
    (root / "asct.log").write_text(PLANTED + "\n")
    [*_, folder] = sorted(root.glob("jobs/zeus-lab7/storage-io-depth-sweep/*/r1"))
    (folder / "stderr").write_text(PLANTED)
    (folder / "zeus-lab7.txt").write_text(PLANTED)
    (folder / "core").write_bytes(b"\0" + PLANTED.encode())
    return root


@pytest.fixture
def clean(tree: Path, tmp_path: Path) -> RunView:
    """Return the same run without its secrets."""
    copy = tmp_path / "copy" / tree.name
    redact = redaction_of(open_view(tree, Fakes()), readable(tree))
    redacted_copy(tree, copy, redact.path, redact.file)
    return open_view(copy, Fakes())


def unpacked(data: bytes) -> Iterator[str]:
    """Yield every text in a file, including the names and contents of an archive's members and the compressed parts of
    a page."""
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name
                yield from unpacked(archive.read(name))
        return
    text = data.decode("utf-8", errors="replace")
    yield PACKED.sub("", text).replace("\\", "").replace("<!-- -->", "")
    for name, coded in PACKED.findall(text):
        yield gzip.decompress(base64.b64decode(coded)).decode() if name != "plotly-gzip" else ""


def leaks(data: bytes) -> list[str]:
    return sorted({secret for text in unpacked(data) for secret in SECRETS if secret.lower() in text.lower()})


PACKED = re.compile(r'<script type="text/plain" id="([^"]*)">([^<]+)</script>')
FORMATS = [name for name in report_formats() if name != "parquet"]


def test_the_secrets_are_in_every_document_and_most_formats(tree: Path, tmp_path: Path) -> None:
    for path in [*tree.rglob("*.json"), *tree.rglob("*.jsonl"), tree / "plan.yaml"]:
        assert set(leaks(path.read_bytes())) == set(SECRETS), path
    found = write_all(open_view(tree, Fakes()), FORMATS, tmp_path / "out")
    assert set(leaks(b"\n".join(path.read_bytes() for path in found["html"]))) == set(SECRETS)


def test_no_format_and_no_archive_contains_a_secret(clean: RunView, tmp_path: Path) -> None:
    written = write_all(clean, FORMATS, tmp_path / "out")
    assert set(written) == set(FORMATS)
    paths = [path for found in written.values() for path in found]
    reports = {path.name: path.read_bytes() for path in paths}
    bundle = tmp_path / "out" / "bundle.zip"
    write_bundle(bundle, clean.root, clean.run.run, clean.run.started_at, reports)
    for path in [*paths, bundle]:
        assert leaks(path.read_bytes()) == [], path
        assert leaks(path.name.encode()) == []
    texts = list(unpacked(bundle.read_bytes()))
    assert len(texts) > 100
    assert not any("XQ77" in text for text in texts), "raw output of the facts can contain unknown serial numbers"


def test_a_copy_without_secrets_is_a_whole_run(clean: RunView, tree: Path) -> None:
    before = open_view(tree, Fakes())
    assert [host.name for host in clean.run.hosts] == ["host-1", "host-2"]
    assert [item.value for item in clean.records] == [item.value for item in before.records]
    assert {item.host for item in clean.records} == {"host-1", "host-2"}
    assert [job.figures != () for job in clean.jobs] == [True] * 4
    assert [len(job.repeats) for job in clean.jobs] == [len(job.repeats) for job in before.jobs]
    assert clean.notes == ()
    assert (before.resolved["baseline"], clean.resolved["baseline"]) == ("golden" + PLANTED, None)
    assert clean.run.hosts[0].address == "[address]"
    assert clean.facts["host-1"].system.command_line == "[kernel command line]"
    assert clean.facts["host-1"].system.hostname == "host-1"
    assert sorted(path.name for path in (clean.root / "facts").iterdir()) == ["host-1.json", "host-2.json"]


def test_a_copy_of_a_run_can_be_verified(tmp_path: Path) -> None:
    root = write_sample(tmp_path / "results", Sample(hosts=HOSTS))
    before = verify(read_run(root))
    copy = tmp_path / "copy" / root.name
    redact = redaction_of(open_view(root, Fakes()), readable(root))
    redacted_copy(root, copy, redact.path, redact.file)
    assert [item.code for item in verify(read_run(copy))] == [item.code for item in before]
    assert (copy / "SHA256SUMS").read_text() != (root / "SHA256SUMS").read_text()
    assert "zeus" not in (copy / "SHA256SUMS").read_text()


def packed(root: Path, path: Path, **options: Any) -> zipfile.ZipFile:
    view = open_view(root, Fakes())
    write_bundle(path, root, view.run.run, view.run.started_at, {"report.html": render(view, "html")}, **options)
    return zipfile.ZipFile(path)


def test_an_archive_contains_the_run_and_nothing_else(tmp_path: Path) -> None:
    root = write_sample(tmp_path / "results", Sample())
    (root / "report.html").write_text("an earlier report")
    (root / "notes.txt").write_text("not of this run")
    (root / "facts" / "link").symlink_to("/etc/passwd")
    before = {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with packed(root, tmp_path / "a.zip") as archive:
        archive.extractall(tmp_path / "out")
        assert {name.partition("/")[0] for name in archive.namelist()} == {root.name}
        assert {item.date_time for item in archive.infolist()} == {(2026, 11, 21, 4, 28, 12)}
    found = {path.relative_to(tmp_path / "out" / root.name) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert Path("report.html") in found and Path("SHA256SUMS") in found
    assert {Path("notes.txt"), Path("facts/link"), Path(".lock")} & found == set()
    assert all(
        (tmp_path / "out" / root.name / path).read_bytes() == before[path] for path in found - {Path("report.html")}
    )
    (root / "facts" / "link").unlink()
    found_in = [[item.code for item in verify(read_run(place))] for place in (root, tmp_path / "out" / root.name)]
    assert found_in[0] == found_in[1]


def test_equal_runs_make_equal_archives(tmp_path: Path) -> None:
    one, two = (write_sample(tmp_path / name, Sample()) for name in ("one", "two"))
    packed(one, tmp_path / "one.zip").close()
    packed(two, tmp_path / "two.zip").close()
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_an_archive_is_overwritten_only_with_force(tmp_path: Path) -> None:
    root = write_sample(tmp_path / "results", Sample())
    (tmp_path / "a.zip").write_text("mine")
    with pytest.raises(UsageError) as refused:
        packed(root, tmp_path / "a.zip")
    assert refused.value.diagnostics[0].code == "E911"
    assert (tmp_path / "a.zip").read_text() == "mine"
    packed(root, tmp_path / "a.zip", force=True).close()
    with pytest.raises(StoreError) as caught:
        packed(root, tmp_path / "nowhere" / "a.zip")
    assert caught.value.diagnostics[0].code == "E912"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "results"]


def test_names_that_are_ordinary_words_stay(tmp_path: Path) -> None:
    root = write_sample(tmp_path / "results", Sample(text=" by ubuntu in /home/ubuntu"))
    redaction = redaction_of(open_view(root, Fakes()), readable(root))
    assert redaction.text("local, ok, ubuntu, /home/ubuntu/x") == "local, ok, ubuntu, /home/user/x"
    assert redaction.document({"transport": "local", "host": "local", "status": "ok"}) == {
        "transport": "local", "host": "local", "status": "ok",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("n1 has a Neoverse-N1", "host-1 has a Neoverse-N1"),
        ("facts/n1.json", "facts/host-1.json"),
        ("n12, an1", "n12, an1"),
        ("/dev/disk/by-id/nvme-X_S6", "/dev/disk/by-id/[serial number]"),
        ("wwn-0x5002538e40a1b2c3", "[serial number]"),
        ("80:00:02:08:fe:80:00:00:00:00:00:00:7c:fe:90:03:00:aa:bb:cc", "[address]"),
        ("rw,username=eve,vers=3", "rw,username=user,vers=3"),
        ("Command line: BOOT_IMAGE=/vmlinuz x=1\nnext", "Command line: [kernel command line]\nnext"),
        ("0000:01:00.0 at 04:28:13", "0000:01:00.0 at 04:28:13"),
        ("std::max 6.1.0-28-amd64", "std::max 6.1.0-28-amd64"),
    ],
)  # fmt: skip
def test_texts_that_have_the_form_of_secrets(before: str, after: str) -> None:
    assert Redaction({"n1": "host-1"}, names=True).text(before) == after


def test_documents_remain_documents() -> None:
    redaction = Redaction({"n1": "host-1", '10" rack': "[address]"}, names=True)
    text = '{"a": "10\\" rack", "pci": {"address": "0000:01:00.0"}, "mac": "xy", "status": "n1"}\n'
    assert json.loads(redaction.file("x.json", text)) == {
        "a": "[address]", "pci": {"address": "0000:01:00.0"}, "mac": "[address]", "status": "n1",
    }  # fmt: skip
    assert redaction.file("x.jsonl", '{"n1":1}\n{"b":2}\n{"n1') == '{"host-1":1}\n{"b":2}\n{"host-1'
    assert redaction.file("x.json", '{"b" :  2}') == '{"b" :  2}', "without secrets, a file stays as it is"
    assert redaction.path("jobs/n1/10.0.0.7-x/r1") == "jobs/host-1/address-x/r1"


# ---- the page carries its data ----


def test_the_page_contains_the_run_compressed(tmp_path: Path) -> None:
    view = sample_view(tmp_path, hosts=("a", "b"))
    body = str(render(view, "html"))
    parts = dict(PACKED.findall(body))
    run_data = gzip.decompress(base64.b64decode(parts["run-data-gzip"])).decode()
    assert run_data == render(view, "json")
    assert gzip.decompress(base64.b64decode(parts["plan-gzip"])).decode() == view.plan_text
    assert 'type="application/json"' not in body


def test_only_a_page_in_the_folder_of_its_run_can_link_to_raw_files(tmp_path: Path) -> None:
    view = sample_view(tmp_path)
    html = get("html")
    inside, outside = (html.documents(view, folder)["report.html"] for folder in (view.root, tmp_path / "out"))
    assert 'data-raw="records.jsonl"' in inside and f'data-run="{view.run.run}"' in inside
    assert "data-raw=" not in outside and "data-run=" not in outside
    assert not re.search(r'href="[^#"]', inside + outside), "without the script, no page has a link that may be dead"
    assert "<noscript>" in outside and f"asct report {view.run.run} -f csv -f json" in outside


def test_a_page_of_many_records_contains_values_and_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = sample_view(tmp_path)
    exact = json.loads(str(render(view, "json")))
    monkeypatch.setattr("asct.export.html._MOST_EXACT", len(view.records) - 1)
    body = str(render(view, "html"))
    brief = json.loads(gzip.decompress(base64.b64decode(dict(PACKED.findall(body))["run-data-gzip"])))
    assert "rounded to 6 significant digits" in body
    assert (brief["run"], brief["facts"], brief["benchmarks"]) == (exact["run"], exact["facts"], {})
    assert brief["records"]["columns"] == exact["records"]["columns"]
    columns = {name: number for number, name in enumerate(brief["records"]["columns"])}
    for one, all_digits in zip(brief["records"]["rows"], exact["records"]["rows"], strict=True):
        assert one[columns["value"]] == pytest.approx(all_digits[columns["value"]], rel=1e-5)
        assert len(re.sub(r"e.*|[-.]", "", repr(one[columns["value"]])).strip("0")) <= 6
        assert one[columns["n_median_mad_min_max"]] is None
        assert (one[columns["ci95"]] is None) == (all_digits[columns["ci95"]] is None)


def test_the_cells_of_a_table_are_short_and_can_be_sorted() -> None:
    heads = (ColumnHead("Name"), ColumnHead("Rate", "right"), ColumnHead("Size", "right"), ColumnHead("Flags"))
    rows = (
        (TableCell("<a>", "<a>"), TableCell("1.5", 1.5e6), TableCell("4K", 4096.0),
         TableCell("noisy, cold", "noisy, cold")),
        (TableCell("b", "b", "bad", 'a "note"'), NO_VALUE, TableCell("`x` 1M", 1048576.0, "refused"), TableCell("")),
    )  # fmt: skip
    grid = TextTable("x", "X", heads, rows)
    assert get("html").body_rows(grid, rows, False).split("\n") == [
        '<tr><th scope="row">&lt;a&gt;<td class="right">1.5<td class="right" data-sort="4096">4K'
        "<td><b>noisy</b>, <b>cold</b>",
        '<tr><th scope="row" title="a &#34;note&#34;"><span class="chip bad">b</span><td class="right muted">–'
        '<td class="right refused" data-sort="1048576"><span><code>x</code> 1M</span><td>',
    ]
    numbers = replace(grid, heads=heads[:3])
    assert get("html").numeric(numbers) and not get("html").numeric(grid)
    assert get("html").body_rows(numbers, [rows[0][:3]], True) == (
        '<tr><th scope="row">&lt;a&gt;<td data-label="Rate"><span>1.5</span>'
        '<td data-sort="4096" data-label="Size"><span>4K</span>'
    )
    assert get("html").body_rows(grid, (), False) == ""
    tiny = TextTable("x", "X", heads[:2], ((TableCell("a"), TableCell("0.0", 4e-9)),))
    assert 'data-sort="4e-09">0.0' in get("html").body_rows(tiny, tiny.rows, False)


def test_the_figures_of_a_page_have_tables_up_to_a_total_size() -> None:
    def line(name: str, values: int) -> Line:
        series = Series("s", tuple(range(values)), tuple(map(float, range(values))))
        return Line(name, name, "", Axis("X"), Axis("Y", "s"), (series,))

    def tables(*figures: Line) -> dict[str, TextTable]:
        return figure_grids([(figures, axis_text(Neighbors(figures)))])

    assert tables(line("few", 4096), line("many", 4097)).keys() == {"few"}
    found = tables(*(line(f"f{number}", 2000) for number in range(12)))
    assert list(found) == [f"f{number}" for number in range(10)]
