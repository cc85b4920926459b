from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.diagnostics.codes import lookup
from asct.diagnostics.render import render
from asct.plan.load import PLAN_KEYS, load_plan
from asct.plan.model import Execution, Node, Retry, Sweep
from tests.plan.loading import BODY, HEAD, load, load_folder, plan_of

DATA = Path(__file__).parent / "data"


def plain(nodes: object) -> object:
    return {key: node.plain() for key, node in nodes.items()}


def test_the_shortest_plan() -> None:
    plan = plan_of("plan: 1\nname: quickstart\nbenchmarks: [latency-sweep, storage-io-depth-sweep]\n")
    assert plan.name == "quickstart"
    assert [(entry.id, entry.uses, entry.hosts) for entry in plan.benchmarks] == [
        ("latency-sweep", "latency-sweep", None),
        ("storage-io-depth-sweep", "storage-io-depth-sweep", None),
    ]
    assert list(plan.hosts) == ["local"]
    assert plan.hosts["local"].transport == "local"
    assert plan.execution == Execution(1, 0, None, Retry(), "interleaved", False)
    assert (plan.limits.points, plan.limits.duration_s) == (5000, None)
    assert plan.report.formats == ("html", "markdown")
    assert plan.files == {"p.yaml": plan.text}


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the key that whole.yaml refers to in the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "lab").touch()
    return tmp_path / ".ssh" / "lab"


def test_the_whole_language_of_the_contract(key: Path) -> None:
    loaded = load_plan(DATA / "whole.yaml")
    assert loaded.diagnostics == ()
    plan = loaded.plan
    assert plan is not None
    assert len(plan.hosts) == 20
    assert plan.groups["lab"] == ("altra-01", "altra-02")
    assert plan.groups["r1"] == tuple(f"node{number:02}" for number in range(1, 17))
    assert plan.execution == Execution(3, 1, 900.0, Retry(1, ("host-lost", "timeout")), "interleaved", False)
    second = plan.hosts["altra-02"]
    assert (second.address, second.port, second.user, second.sudo, second.jump) == (
        "10.0.0.7",
        2222,
        "bench",
        True,
        "gw.lab",
    )
    assert second.known_hosts == str(DATA / "known_hosts")
    assert second.identity_file == str(key)
    assert second.vars["scratch"].value == "/dev/disk/by-id/nvme-ACME_X2"
    assert plan.hosts["altra-01"].labels == {"arch": "aarch64"}
    assert plan.hosts["node07"].address == "node07"
    matrix, write, peak = plan.benchmarks[2:]
    assert matrix.sweep is not None
    assert list(matrix.sweep.axes) == ["block_size", "rwmixread", "iodepth"]
    assert [plain(group) for group in matrix.sweep.zips] == [{"numjobs": [1, 4], "iodepth_batch": [1, 8]}]
    assert matrix.sweep.where is not None
    assert len(matrix.sweep.exclude) == len(matrix.sweep.include) == 1
    assert plain(write.config) == {**plain(matrix.config), "rw": "randwrite"}
    assert (write.uses, write.execution.repeats, write.sweep) == ("storage-fio", 5, matrix.sweep)
    assert plain(peak.needs) == {"cache": "latency-sweep"}
    assert len(plan.expect) == 5
    by = plan.expect[2].by["altra-02"][1]
    assert by.min is not None
    assert by.min.value == "180k"
    assert plan.expect[3].of is not None
    assert (plan.expect[4].versus, plan.expect[4].if_missing) == ("baseline", "warn")
    assert plan.baseline is not None
    assert plan.baseline.value == "results/altra-bringup/golden"
    (consent,) = plan.safety.destroys
    assert (consent.host, consent.serial, consent.overwrite) == ("altra-01", "S6XZNX0R123456", False)
    assert plan.safety.max_written_bytes == 2 << 40
    assert plan.limits.duration_s == 8 * 3600
    assert plan.report.formats == ("html", "markdown", "junit", "csv")
    assert "site" in plan.vars


@pytest.mark.usefixtures("key")
def test_a_profile_is_laid_over() -> None:
    quick = load_plan(DATA / "whole.yaml", profile="quick").plan
    assert quick is not None
    assert (quick.execution.repeats, quick.execution.warmup) == (1, 0)
    assert quick.vars["runtime"].value == "2s"
    assert quick.vars["max_qd"].value == 128


def test_profiles_change_entries_and_what_extends_them() -> None:
    text = HEAD + (
        "benchmarks: [{id: a, uses: x, repeats: 5, config: {k: 1, l: 2}}, {id: b, extends: a}]\n"
        "profiles: {q: {benchmarks: {a: {repeats: 1, config: {k: 9}}}, strict: true, limits: {points: 7}}}\n"
    )
    plan = plan_of(text, profile="q")
    assert [(entry.execution.repeats, plain(entry.config)) for entry in plan.benchmarks] == [(1, {"k": 9, "l": 2})] * 2
    assert (plan.execution.strict, plan.limits.points) == (True, 7)
    assert plan_of(text).benchmarks[0].execution.repeats == 5


def test_an_unknown_profile() -> None:
    (item,) = load(BODY + "profiles: {quick: {}}", profile="quik").diagnostics
    assert (item.code, item.hint) == ("E114", "did you mean `quick`?")
    assert item.span is not None
    assert item.span.line == 4


def test_extends_merges_maps_and_replaces_lists() -> None:
    plan = plan_of(
        HEAD + "benchmarks:\n"
        "  - {id: c, extends: b, config: {z: 3}, tags: [three]}\n"
        "  - {id: a, uses: x, config: {x: 1, y: [1, 2]}, tags: [one, two], retry: {max: 1, on: [failed]}}\n"
        "  - {id: b, extends: a, config: {y: [9]}, retry: {max: 2}, sweep: {q: [1]}}\n"
    )
    last, first, middle = plan.benchmarks
    assert plain(last.config) == {"x": 1, "y": [9], "z": 3}
    assert plain(middle.config) == {"x": 1, "y": [9]}
    assert (first.tags, middle.tags, last.tags) == (("one", "two"), ("one", "two"), ("three",))
    assert last.execution.retry == Retry(2, ("failed",))
    assert first.sweep == Sweep({})
    assert last.sweep is not None
    assert last.config["x"].span.line == 5


def test_strict_of_plan_and_defaults_and_entry() -> None:
    plan = plan_of(HEAD + "strict: true\nbenchmarks: [{id: a, uses: x, strict: false}, b]\n")
    assert plan.execution.strict is True
    assert [entry.execution.strict for entry in plan.benchmarks] == [False, None]


def test_templates_of_vars_in_structure() -> None:
    plan = plan_of(
        HEAD + "vars: {n: 2, t: 30s, f: html, twice: '${vars.n * 2}', who: '${plan.name}'}\n"
        "benchmarks: [{uses: x, repeats: '${vars.twice}', timeout: '${vars.t * 2}', config: {a: '${vars.n}'}}]\n"
        "report: {title: 'run of ${vars.who}', formats: ['${vars.f}'], "
        "features: {x: {size: '${vars.n}', fast: true}}}\n"
        "expect: [{metric: x.m, max: '${vars.n}', at: {d: '${vars.n}'}}]\n"
    )
    (entry,) = plan.benchmarks
    assert (entry.execution.repeats, entry.execution.timeout_s) == (4, 60.0)
    assert entry.config["a"].value == "${vars.n}"
    assert (plan.report.title, plan.report.formats) == ("run of t", ("html",))
    assert plan.report.features == {"x": {"size": "2", "fast": "true"}}
    assert plan.expect[0].bound.max is not None
    assert (plan.expect[0].bound.max.value, plan.expect[0].at["d"].value) == (2, 2)


def test_environment_only_as_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCT_TEST_DISK", "/dev/${vars.x}")
    plan = plan_of(BODY + "inputs: [ASCT_TEST_DISK]\nvars: {disk: '${env.ASCT_TEST_DISK}'}\n")
    assert plan.vars["disk"].value == "/dev/${vars.x}"
    assert plan.inputs == ("ASCT_TEST_DISK",)
    (item,) = load(BODY + "vars: {disk: '${env.ASCT_TEST_DISK}'}\n").diagnostics
    assert (item.code, item.hint) == ("E121", "add it to `inputs`: `inputs: [ASCT_TEST_DISK]`")


def test_layers_that_give_settings() -> None:
    plan = plan_of(
        BODY + "defaults: {config: {a: 1}}\nhosts: {h: {config: {b: 2}}, i: {}}\n"
        "groups: {g: {hosts: [h], config: {c: 3}}}\n"
    )
    assert plain(plan.defaults_config) == {"a": 1}
    assert {name: plain(config) for name, config in plan.host_config.items()} == {"h": {"b": 2}}
    assert {name: plain(config) for name, config in plan.group_config.items()} == {"g": {"c": 3}}


def test_includes(tmp_path: Path) -> None:
    loaded = load_folder(
        tmp_path,
        {
            "p.yaml": BODY
            + "include: [lab/hosts.yaml, more.yaml]\nvars: {a: main}\nhosts: {defaults: {user: me}, h1: {}}\n",
            "lab/hosts.yaml": "include: deep.yaml\nhosts:\n  defaults: {sudo: true}\n  h2: {known_hosts: ./keys}\n"
            "groups: {g: [h1, h2]}\nvars: {a: lab, b: lab}\n",
            "lab/keys": "",
            "lab/deep.yaml": "vars: {c: deep}\nprofiles: {p: {vars: {a: 1}}}\n",
            "more.yaml": "include: [lab/deep.yaml]\nvars: {d: more}\n",
        },
    )
    assert loaded.diagnostics == ()
    plan = loaded.plan
    assert plan is not None
    assert plain(plan.vars) == {"a": "main", "b": "lab", "c": "deep", "d": "more"}
    assert plan.groups["g"] == ("h2", "h1") or plan.groups["g"] == ("h1", "h2")
    assert (plan.hosts["h2"].user, plan.hosts["h2"].sudo, plan.hosts["h1"].sudo) == ("me", True, False)
    assert plan.hosts["h2"].known_hosts == str(tmp_path / "lab" / "keys")
    assert len(plan.files) == 4


def test_a_circle_of_includes_is_named(tmp_path: Path) -> None:
    files = {"p.yaml": BODY + "include: [a.yaml]", "a.yaml": "include: [b.yaml]", "b.yaml": "include: [a.yaml]"}
    (item,) = load_folder(tmp_path, files).diagnostics
    assert item.code == "E115"
    assert item.message.endswith("a.yaml -> " + str(tmp_path / "b.yaml") + " -> " + str(tmp_path / "a.yaml"))


def test_a_plan_that_includes_itself(tmp_path: Path) -> None:
    (item,) = load_folder(tmp_path, {"p.yaml": BODY + "include: [p.yaml]"}).diagnostics
    assert item.code == "E115"


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("vars: {a: 1}")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (item,) = load_folder(tmp_path, {"plans/p.yaml": BODY + "include: [link.yaml]"}, "plans/p.yaml").diagnostics
    assert item.code == "E116"


def test_a_name_in_two_included_files(tmp_path: Path) -> None:
    files = {"p.yaml": BODY + "include: [a.yaml, b.yaml]", "a.yaml": "vars: {x: 1}", "b.yaml": "vars: {x: 2}"}
    (item,) = load_folder(tmp_path, files).diagnostics
    assert item.code == "E113"
    assert item.notes[0][1] is not None


def test_a_sweep_of_ten_thousand_values() -> None:
    values = ", ".join(map(str, range(10_000)))
    (entry,) = plan_of(HEAD + f"benchmarks: [{{uses: x, sweep: {{a: [{values}]}}}}]").benchmarks
    assert entry.sweep is not None
    assert len(entry.sweep.axes["a"].value) == 10_000


def test_chains_that_would_explode_do_not() -> None:
    links = "".join(f"  g{i}: [g{i + 1}, h{i + 1}]\n  h{i}: [g{i + 1}, h{i + 1}]\n" for i in range(40))
    plan = plan_of(BODY + "groups:\n" + links + "  g40: [local]\n  h40: [local]\n")
    assert plan.groups["g0"] == ("local",)
    chain = "".join(f"  - {{id: e{i}, extends: e{i + 1}}}\n" for i in range(2000))
    assert len(plan_of(HEAD + "benchmarks:\n" + chain + "  - {id: e2000, uses: x}\n").benchmarks) == 2001


def test_nodes_are_plain_again() -> None:
    span = load(BODY).plan.benchmarks[0].span
    node = Node({"a": Node([Node(1, span)], span)}, span)
    assert node.plain() == {"a": [1]}


OTHER_WORDS = (
    "id", "uses", "extends", "needs", "repeats", "timeout", "retry", "max", "on", "order", "where", "zip", "exclude",
    "metric", "at", "min", "by", "destroys", "device", "host", "points", "formats", "from", "transport", "address",
    "port", "labels", "a", "b", "all", "local", "config", "sweep",
)  # fmt: skip
WORDS = st.sampled_from((*PLAN_KEYS, *OTHER_WORDS))
LEAF = st.one_of(
    WORDS,
    st.integers(-5, 10**20),
    st.booleans(),
    st.none(),
    st.sampled_from(
        ["30s", "4K", "4k", "${vars.a}", "${host.name}", "${", "a[1:3]", "*", "../x", "/dev/sda", "p.yaml"]
    ),
    st.text(max_size=6),
)
TREE = st.recursive(
    LEAF, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=5)), max_leaves=25
)


@given(st.dictionaries(WORDS, TREE, max_size=8), st.sampled_from([None, "a", "b"]))
def test_any_tree_ends_in_a_plan_or_in_diagnostics(tree: dict[str, object], profile: str | None) -> None:
    loaded = load(json.dumps({**tree, "plan": 1}, ensure_ascii=False), profile=profile)
    assert (loaded.plan is None) is any(item.severity == "error" for item in loaded.diagnostics)
    for item in loaded.diagnostics:
        assert lookup(item.code) is not None
        assert item.message.isprintable()
    assert all(mark == "\n" or mark.isprintable() for item in loaded.diagnostics for mark in render(item, loaded.files))


@given(st.text())
def test_any_text_ends_in_diagnostics(text: str) -> None:
    loaded = load(text)
    assert loaded.plan is None
    assert loaded.diagnostics


@pytest.mark.parametrize("text", ["include: [pipe]", "hosts: {from: pipe}"])
def test_a_pipe_that_a_plan_names_is_not_waited_for(tmp_path: Path, text: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (item,) = load_folder(tmp_path, {"p.yaml": BODY + text}).diagnostics
    assert item.code == "E101"
    assert "not a file" in item.message
