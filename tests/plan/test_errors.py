"""Every error code of plans, at its exact location."""

from __future__ import annotations

from pathlib import Path

import pytest

from asct.diagnostics.codes import all_codes, lookup
from asct.diagnostics.render import render
from asct.plan.load import load_plan
from tests.plan.loading import BODY, HEAD, load, load_folder, where

CASES = [
    # text, (code and place ...), part of the first message, part of its hint
    (HEAD + "benchmarks: [noop\n", ["E103 p.yaml:3:17"], "not valid YAML", "close the open"),
    (HEAD + "benchmarks: [noop]\x00\n", ["E102 p.yaml:3:19"], "U+0000", "remove it"),
    (BODY + "repeets: 3\n", ["E104 p.yaml:4:1"], "unknown key `repeets` in the plan",
     "`repeats` belongs to `defaults` or an item of `benchmarks`"),
    (BODY + "runs: 3\n", ["E104 p.yaml:4:1"], "unknown key `runs` in the plan", "`repeats` belongs to `defaults` or"),
    (BODY + "max_writen: 2TiB\n", ["E104 p.yaml:4:1"], "unknown key `max_writen`", "`max_written` belongs to `safety`"),
    (BODY + "limits: {expect: []}\n", ["E104 p.yaml:4:10"], "unknown key `expect`", "`expect` belongs to the plan"),
    (HEAD + "benchmarks: [{uses: a, duration: 3s}]", ["E104 p.yaml:3:24"], "unknown key `duration`",
     "a setting belongs in `config`, as in `config: {duration: 3s}`; known: "),
    (BODY + "hostss: {}\n", ["E104 p.yaml:4:1"], "unknown key `hostss`", "did you mean `hosts`?"),
    (BODY + "defaults: {a:1}\n", ["E104 p.yaml:4:12"], "unknown key `a:1` in `defaults`", "add a space"),
    (HEAD + "benchmarks: [{uses: a, timout: 3s}]", ["E104 p.yaml:3:24"], "in a benchmark", "did you mean `timeout`?"),
    (BODY + "expect: [{metric: a.b, max: 3, sevrity: x}]", ["E104 p.yaml:4:32", "E112 p.yaml:4:41"],
     "in an expectation", "`severity`"),
    (BODY + "expect: [a.b < 130 ns]", ["E106 p.yaml:4:10"], "must be a map", "write `{metric: a.b, max: 130 ns}`"),
    (BODY + "expect: ['a.b >= 3', 'a.b>3']", ["E106 p.yaml:4:10", "E106 p.yaml:4:22"], "", "{metric: a.b, min: 3}"),
    (BODY + "expect: [{metric: a.b, '>=': 3}]", ["E104 p.yaml:4:24"], "unknown key `>=`", "did you mean `min`?"),
    (BODY + "hosts: {a: {address: bad..host}}", ["E112 p.yaml:4:22"], "valid `address`", "write a host name or"),
    (BODY + "hosts: {a: {adress: x}}", ["E104 p.yaml:4:13"], "in host `a`", "did you mean `address`?"),
    (BODY + "hosts: {a: {transport: ssh, partition: x}}", ["E104 p.yaml:4:29"], "no effect on host `a`", "slurm"),
    (BODY + "hosts: {a: {transport: local, jump: gw}}", ["E104 p.yaml:4:31"], "no effect on host", "`transport: ssh`"),
    (BODY + "hosts: {defaults: {nodes: 2}, a: , b: }", ["E104 p.yaml:4:20"], "no effect on host `a`", "slurm"),
    (BODY + "safety: {destroy: []}", ["E104 p.yaml:4:10"], "in `safety`", "did you mean `destroys`?"),
    (BODY + "profiles: {q: {var: {}}}", ["E104 p.yaml:4:16"], "in profile `q`", "did you mean `vars`?"),
    (BODY + "groups: {g: {host: [a]}}", ["E104 p.yaml:4:14", "E114 p.yaml:4:21"],
     "unknown key `host`", "did you mean `hosts`?"),
    (BODY + "groups: {g: {}}", ["E107 p.yaml:4:13"], "group `g` has no `hosts`", "add"),
    (BODY + "defaults: {retry: {maxi: 1}}", ["E104 p.yaml:4:20"], "in `retry`", "did you mean `max`?"),
    (BODY + "repeats: 3\n", ["E104 p.yaml:4:1"], "unknown key `repeats` in the plan", "belongs to `defaults` or"),
    (HEAD + "benchmarks: [{uses: a, with: {}}]", ["E104 p.yaml:3:24"], "unknown key `with`", "did you mean `config`?"),
    (BODY + "name: u\n", ["E105 p.yaml:4:1"], "duplicate key `name`", "remove one"),
    ("plan: 1\nname: 5\nbenchmarks: [a]", ["E106 p.yaml:2:7"], "`name` must be text, not `5`", 'quote it: `"5"`'),
    (HEAD + "benchmarks: latency", ["E106 p.yaml:3:13"], "`benchmarks` must be a list", "write `[latency]`"),
    (HEAD + "benchmarks: [5, [a]]", ["E106 p.yaml:3:14", "E106 p.yaml:3:17"], "a name or a map", "a name"),
    (BODY + "defaults: {repeats: 3x, strict: yes}", ["E106 p.yaml:4:21", "E106 p.yaml:4:33"], "a whole number", ""),
    (BODY + "strict: no", ["E106 p.yaml:4:9"], "`strict` must be `true` or `false`", "write `false`: YAML 1.2"),
    (HEAD + "benchmarks:\n\t- noop\n", ["E103 p.yaml:4:1"], "not valid YAML", "this line is indented with a tab"),
    (HEAD + "benchmarks:\n- uses: a\n  config:\n  duration: 2s", ["E104 p.yaml:6:3"],
     "unknown key `duration` in a benchmark", "indent it below `config`"),
    (HEAD + "benchmarks: a, b", ["E106 p.yaml:3:13"], "must be a list, not `a, b`", "write `[a, b]`"),
    (BODY + "defaults: {repeats: three}", ["E106 p.yaml:4:21"], "a whole number", "from 1 to"),
    (BODY + "defaults: {retry: 2}", ["E106 p.yaml:4:19"], "`retry` must be a map", "write `retry: {max: 2"),
    (BODY + "hosts: {a: 10.0.0.7}", ["E106 p.yaml:4:12"], "host `a` must be a map", "write `{address: 10.0.0.7}`"),
    (BODY + "limits:\n", ["E106 p.yaml:4:1"], "`limits` has no value", "add a value, or remove the line"),
    (BODY + "hosts: [a]", ["E106 p.yaml:4:8"], "`hosts` must be a map of hosts", "write `hosts:"),
    (BODY + "hosts: {a: b}", ["E106 p.yaml:4:12"], "host `a` must be a map", "address"),
    (HEAD + "benchmarks: [{sids: {duration: 2s}}]", ["E106 p.yaml:3:15"], "`sids` is a benchmark",
     "write `- {uses: sids, config: {duration: 2s}}`"),
    (HEAD + "benchmarks: {sids: {duration: 2s}, ls: {}}", ["E106 p.yaml:3:13"], "must be a list",
     "write `[{uses: sids, config: {duration: 2s}}, ls]`"),
    (BODY + "expect: {metric: a}", ["E106 p.yaml:4:9"], "`expect` must be a list", "write `-"),
    (BODY + "expect: [{metric: a.b, min: [1]}]", ["E106 p.yaml:4:29"], "`min` must be one value", ""),
    (BODY + "expect: [{metric: a.b}]", ["E107 p.yaml:4:10"], "no bound", "add `min`"),
    (BODY + "expect: [{metric: a.b, max: 1, versus: run}]", ["E112 p.yaml:4:40"], "`versus`", "write `baseline`"),
    (HEAD + "benchmarks: [{uses: a, needs: [b]}]", ["E106 p.yaml:3:31"], "`needs` must be a map", "write an alias"),
    (HEAD + "benchmarks: [{uses: a, sweep: {b: 3}}]", ["E106 p.yaml:3:35"], "axis `b` must be", "write `[3]`"),
    (HEAD + "benchmarks: [{uses: a, sweep: {zip: [3]}}]", ["E106 p.yaml:3:38"], "an item of `zip` must be a map", ""),
    ("[a, b]", ["E106 p.yaml:1:1"], "a plan must be a map, not a list", "plan: 1"),
    ("", ["E107"], "p.yaml is empty", "`asct init`"),
    (HEAD, ["E107 p.yaml:1:1"], "the plan has no `benchmarks`", "`asct list`"),
    (HEAD + "benchmarks: []", ["E107 p.yaml:3:13"], "`benchmarks` is empty", "`asct list`"),
    (HEAD + "benchmarks: [{id: a}]", ["E107 p.yaml:3:14"], "a benchmark has no `uses`", "add `uses"),
    (HEAD + "benchmarks: [{repeats: 2}]", ["E107 p.yaml:3:14"], "a benchmark has no `uses`", "add `uses"),
    (BODY + "baseline: {}", ["E107 p.yaml:4:11"], "`baseline` has no `run`", "`latest`"),
    (BODY + "safety: {destroys: [{host: a}]}", ["E107 p.yaml:4:21"], "has no `device`", "a host and a device"),
    (BODY + "vars: {a: *b}", ["E108 p.yaml:4:11"], "aliases", "`extends` or `vars`"),
    (HEAD + "benchmarks: " + "[" * 100_000, ["E109 p.yaml:3:112"], "deeper than 100", ""),
    ("name: t\nbenchmarks: [a]", ["E110 p.yaml:1:1"], "`plan: 1` is missing", "start the file"),
    ("services: {web: {}}", ["E110 p.yaml:1:1"], "might not be a plan", "start the file"),
    ("plan: 2\nname: t", ["E110 p.yaml:1:7"], "version 2 of the plan language is newer", "newer asct"),
    ("plan: '1'\nname: t", ["E110 p.yaml:1:7"], "`1` is not a version", "write `plan: 1`"),
    ("plan: true\nname: t", ["E110 p.yaml:1:7"], "`true` is not a version", "write `plan: 1`"),
    ("plan: 1\nname: ../x\nbenchmarks: [a]", ["E111 p.yaml:2:7"], "cannot be the name of a plan", "letters"),
    (HEAD + "benchmarks: [{id: a/b, uses: c}]", ["E111 p.yaml:3:19"], "the name of a benchmark entry", "letters"),
    (BODY + "vars: {max-qd: 1}", ["E111 p.yaml:4:8"], "cannot be the name of a variable", "write `max_qd`"),
    (BODY + "hosts: {a b: {}, all: {}}", ["E111 p.yaml:4:9", "E111 p.yaml:4:18"], "the name of a host", "letters"),
    (BODY + "groups: {all: [local], local: [local]}", ["E111 p.yaml:4:10", "E111 p.yaml:4:24"], "name of a group", ""),
    (HEAD + "benchmarks: [{uses: a, needs: {a-b: c}}]", ["E111 p.yaml:3:32"], "an alias of `needs`", "`a_b`"),
    (BODY + "defaults: {timeout: 60}", ["E112 p.yaml:4:21"], "`60` needs a unit", "write `60s`"),
    (BODY + "defaults: {timeout: 0s}", ["E112 p.yaml:4:21"], "a time limit of 0", "longer"),
    (BODY + "defaults: {order: radnom}", ["E112 p.yaml:4:19"], "not valid for `order`", "did you mean `random`?"),
    (BODY + "defaults: {retry: {on: [timeot]}}", ["E112 p.yaml:4:25"], "not valid for `on`", "`timeout`"),
    (BODY + "defaults: {repeats: 0}", ["E112 p.yaml:4:21"], "`repeats` must be from 1", "from 1 to"),
    (BODY + "safety: {max_written: 2t}", ["E112 p.yaml:4:23"], "ambiguous size `2t`", "write `2T` (binary"),
    (BODY + "hosts: {a: {port: 70000}}", ["E112 p.yaml:4:19"], "must be from 1 to 65535, not 70000", "from 1"),
    (BODY + "hosts: {a: {transport: shh}}", ["E112 p.yaml:4:24"], "not valid for `transport`", "did you mean `ssh`?"),
    (BODY + "hosts: {a: {workdir: tmp}}", ["E112 p.yaml:4:22"], "is not a valid work folder", "absolute"),
    (BODY + "hosts: {a: {address: 'bad host!'}}", ["E112 p.yaml:4:22"], "not a valid `address`", "10.0.0.7"),
    (BODY + "hosts: {a: {address: 1.2.3.400}}", ["E112 p.yaml:4:22"], "not a valid `address`", "from 0 to 255"),
    (BODY + "hosts: {a: {address: 'me@h.lab:70'}}", ["E112 p.yaml:4:22"], "`me@h.lab:70`", "`user: me`, `address: h"),
    (BODY + "hosts: {a: {jump: 'gw,b c'}}", ["E112 p.yaml:4:19"], "cannot be `jump`", "with commas"),
    (BODY + "hosts: {10.0.0.256: {}}", ["E112 p.yaml:4:9"], "not a valid `address`", "from 0 to 255"),
    (BODY + "hosts: {a: {address: 'me@010.0.0.7:22'}}", ["E112 p.yaml:4:22"], "not a valid `address`", "leading zeros"),
    (BODY + "hosts: {a: {jump: '[bastion]:22'}}", ["E112 p.yaml:4:19"], "nor an IP address", "`HOST`"),
    (BODY + "hosts: {a: {jump: me@10.0.0.256}}", ["E112 p.yaml:4:19"], "nor an IP address", "`HOST`"),
    (BODY + "hosts: {a: {jump: 'me@gw:99999'}}", ["E112 p.yaml:4:19"], "cannot be `jump`", "`HOST`"),
    (BODY + "hosts: {a: {identity_file: no/key}}", ["E101 p.yaml:4:28"], "cannot read `no/key`: no such", "relative"),
    (BODY + "hosts: {a: {known_hosts: /etc}}", ["E101 p.yaml:4:26"], "`/etc`: it is a directory", "`known_hosts`"),
    (BODY + "report: {formats: [htlm]}", ["E112 p.yaml:4:20"], "not valid for `formats`", "did you mean `html`?"),
    (BODY + "report: {features: [a]}", ["E106 p.yaml:4:20"], "`features` must be a map", "write `key: value` pairs"),
    (BODY + "report: {features: {a: x}}", ["E106 p.yaml:4:24"], "`a` must be a map", "write `name: value` pairs"),
    (BODY + "report: {features: {a: {b: [1]}}}", ["E106 p.yaml:4:28"], "feature `b` must be text, not a list", ""),
    (BODY + "inputs: [A-B, 3]", ["E112 p.yaml:4:10", "E112 p.yaml:4:15"], "not an environment variable", "NAME"),
    (BODY + "safety: {destroys: [{host: a, device: sda}]}", ["E112 p.yaml:4:39"], "`sda` is not a device", "by-id"),
    (HEAD + "benchmarks: [noop, noop]", ["E113 p.yaml:3:20"], "two entries have the id `noop`", "give one of them"),
    (BODY + "hosts: {a1: {}, 'a[1:2]': {}}", ["E113 p.yaml:4:17"], "host `a1` is defined twice", "rename"),
    (BODY + "hosts: {Lab: {}, lAB: {}}", ["E113 p.yaml:4:18"], "hosts `lAB` and `Lab` differ only in case", "rename"),
    (HEAD + "benchmarks: [{id: A, uses: noop}, {id: a, uses: noop}]", ["E113 p.yaml:3:40"],
     "the ids `a` and `A` differ only in case", "rename"),
    (BODY + "groups: {g: {hosts: local, vars: {a: 1}}, h: {hosts: local, vars: {a: 2}}}", ["E113 p.yaml:4:71"],
     "different values for host `local`", "for the host"),
    (HEAD + "benchmarks: [a, {id: b, extends: aa}]", ["E114 p.yaml:3:34"], "unknown entry", "`a`"),
    (BODY + "groups: {g: [lcal]}", ["E114 p.yaml:4:14"], "unknown host or group `lcal`", "did you mean `local`?"),
    (BODY + "groups: {g: 'x*'}", ["E114 p.yaml:4:13"], "pattern `x*` matches no host", "local"),
    (BODY + "expect: [{id: a, metric: b.c, min: 1}, {id: a, metric: b.d, min: 1}]", ["E113 p.yaml:4:45"],
     "two expectations have the id `a`", "rename one of them"),
    (BODY + "expect: [{id: a, metric: b.c, min: 1}]\nprofiles: {q: {expect: {aa: {min: 2}}}}", ["E114 p.yaml:5:25"],
     "no expectation `aa`", "did you mean `a`?"),
    (BODY + "expect: [{id: a, metric: b.c, min: 1}]\nprofiles: {q: {expect: {a: {at: {x: 1}}}}}", ["E104 p.yaml:5:29"],
     "unknown key `at`", "of"),
    (BODY + "profiles: {q: {vars: {a: 1}, benchmarks: {nop: {}}}}", ["E114 p.yaml:4:23", "E114 p.yaml:4:43"],
     "the plan has no variable `a`", "add it to the plan first"),
    (HEAD + "benchmarks: [{id: a, extends: b}, {id: b, extends: a}]",
     ["E115 p.yaml:3:52"], "`extends` forms a cycle: a -> b -> a", "remove one"),
    (BODY + "groups: {g: [h], h: [g]}", ["E115 p.yaml:4:22"], "groups form a cycle: g -> h -> g", "remove one"),
    (BODY + "vars: {a: '${vars.b}', b: '${vars.a}'}", ["E115 p.yaml:4:11"], "a cycle", "a value"),
    (BODY + "include: [../x.yaml]", ["E116 p.yaml:4:11"], "outside the plan's folder", "move the file"),
    (BODY + "include: [/etc/passwd]", ["E116 p.yaml:4:11"], "outside the plan's folder", "move the file"),
    (BODY + "hosts: {from: ../x.json}", ["E116 p.yaml:4:15"], "outside the plan's folder", "move the file"),
    (BODY + "include: [absent.yaml]", ["E101 p.yaml:4:11"], "cannot read absent.yaml: no such file", "check the path"),
    (BODY + "include: [3]", ["E106 p.yaml:4:11"], "must be a file path", "write a path"),
    (BODY + "hosts: {'a[3:1]': {}}", ["E118 p.yaml:4:9"], "is reversed", "write `[1:3]`"),
    (BODY + "hosts: {'a[x:y]': {}}", ["E118 p.yaml:4:9"], "is not a host range", "node[01:16]"),
    (BODY + "hosts: {'a[1:99999999]': {}}", ["E118 p.yaml:4:9"], "more than 10000 hosts", "shorter"),
    (BODY + "hosts: {'a[1:6000]': {}, 'b[1:6000]': {}}", ["E118 p.yaml:4:26"], "more than 10000 hosts", "split"),
    (BODY + "description: ${vars.x", ["E120 p.yaml:4:14"], "`${` is not closed", "add `}`"),
    (BODY + "vars: {a: 1}\ndescription: ${vars.b}", ["E121 p.yaml:5:16"], "`vars.b` is not defined", "under `vars`"),
    (BODY + "vars: {a: '${host.name}'}", ["E121 p.yaml:4:14"], "is not available here", "`host` is available"),
    (BODY + "vars: {a: '${1 // 0}'}", ["E122 p.yaml:4:19"], "division by zero", "other than 0"),
    (BODY + "safety: {destroys: [{host: a, device: '/dev/${vars.x}'}]}", ["E125 p.yaml:4:39"], "not allowed here", ""),
    (BODY + "vars: {a: 017}\nx: 1", ["E130 p.yaml:4:11", "E104 p.yaml:5:1"], "is read as the number 17", "0o"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "places", "message", "hint"), CASES, ids=range(len(CASES)))
def test_every_error_has_its_place(text: str, places: list[str], message: str, hint: str) -> None:
    loaded = load(text)
    assert loaded.plan is None
    assert sorted(map(where, loaded.diagnostics)) == sorted(places)
    first = next(item for item in loaded.diagnostics if where(item) == places[0])
    assert message in first.message
    assert hint in first.hint
    for item in loaded.diagnostics:
        assert not item.message.endswith(".")
        assert lookup(item.code) is not None
    assert all(render(item, loaded.files) for item in loaded.diagnostics)


ELSEWHERE = {
    "E117": "test_hosts.py: inventories",
    "E119": "test_overrides.py: --set",
    "E123": "test_templates.py: where",
    "E124": "test_ranges.py: axes",
    "E126": "test_sharing.py: consent in another file",
}


def test_every_code_has_a_case() -> None:
    covered = {place.split()[0] for _, places, _, _ in CASES for place in places}
    assert covered | set(ELSEWHERE) == {code for code in all_codes() if code.startswith("E1")}
    assert not covered & set(ELSEWHERE)


def test_every_error_at_once() -> None:
    text = (
        "plan: 1\nnam: t\nbenchmarks:\n  - a\n  - {id: b, uses: c, repeats: x, timeout: 5}\n  - {id: b, uses: d}\n"
        "hosts: {h: {port: 0, adress: y}}\ngroups: {g: [i]}\nlimits: {points: -1}\n"
    )
    places = sorted(map(where, load(text).diagnostics))
    assert places == [
        "E104 p.yaml:2:1", "E104 p.yaml:7:22", "E106 p.yaml:5:31", "E112 p.yaml:5:43",
        "E112 p.yaml:7:19", "E112 p.yaml:9:18", "E113 p.yaml:6:10", "E114 p.yaml:8:14",
    ]  # fmt: skip


def test_findings_come_in_the_order_of_their_places() -> None:
    spans = [item.span for item in load("plan: 1\nx: 1\nname: 3\nbenchmarks: [{uses: a, y: 1}]\nz: 2").diagnostics]
    lines = [span.line for span in spans if span is not None]
    assert lines == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.symlink_to("gone.yaml"), "no such file"),
        (lambda path: path.mkdir(), "it is not a file"),
        (lambda path: path.symlink_to(path), "symbolic links"),
    ],
)
def test_a_plan_that_cannot_be_read(tmp_path: Path, make: object, reason: str) -> None:
    path = tmp_path / "p.yaml"
    make(path)
    loaded = load_plan(path)
    (item,) = loaded.diagnostics
    assert (loaded.plan, item.code) == (None, "E101")
    assert reason in item.message and "p.yaml" not in item.hint


@pytest.mark.parametrize(
    "address", ["altra-01.lab", "10.0.0.7", "fe80::1", "fe80::1%eth0", "host_1", "münchen.example", "2001:db8::7"]
)
def test_addresses_that_are_valid(address: str) -> None:
    hosts = f"hosts: {{a: {{address: '{address}', jump: 'me@gw:2222, [fe80::1]:22, other'}}}}"
    assert not load(BODY + hosts).diagnostics


def test_a_plan_of_garbage(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 100)
    (item,) = load_plan(path).diagnostics
    assert item.code == "E102"


def test_an_included_file_keeps_its_own_places(tmp_path: Path) -> None:
    files = {"p.yaml": BODY + "include: [sub/a.yaml]\n", "sub/a.yaml": "hosts:\n  b: {prt: 1}\nlimits: {}\n"}
    loaded = load_folder(tmp_path, files)
    assert sorted(map(where, loaded.diagnostics)) == ["E104 a.yaml:2:7", "E104 a.yaml:3:1"]
    assert "b: {prt: 1}" in render(loaded.diagnostics[0], loaded.files)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (BODY + "hosts: {a: b}\nvars: {a: '${vars.b}'}\nrepeets: 3", True),
        (HEAD + "benchmarks: 3", True),
        (HEAD + "benchmarks: [noop", False),
        ("plan: 2\nname: t\nbenchmarks: [noop]", False),
    ],
)
def test_the_sound_parts_of_a_plan_with_errors_can_be_checked_further(text: str, known: bool) -> None:
    loaded = load(text)
    assert loaded.plan is None
    assert (loaded.partial is not None) is known


def test_without_errors_both_are_the_plan() -> None:
    loaded = load(BODY)
    assert loaded.plan is not None
    assert loaded.partial is loaded.plan
