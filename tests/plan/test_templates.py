from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError
from asct.plan.findings import Findings
from asct.plan.model import HostSpec, Node, PendingValue
from asct.plan.scope import Scope
from asct.plan.templates import compile_where, evaluate, evaluate_pending, has_template
from tests.plan.loading import node_of, where

HOST = HostSpec(
    "altra", "ssh", "10.0.0.7", vars={"disk": Node("/dev/sda", Span("f", 1, 1))}, labels={"arch": "aarch64"}
)


VARS = node_of(
    "{runtime: 30s, qd: 128, size: 64K, half: 0.5, yes: true, depths: [1, 2], disk: {serial: S1}, odd: '${vars.qd}',"
    " word: randread}"
).value
SCOPE = Scope(VARS, HOST, ("cache",), {"name": "lab"}, ("HOME",), {"HOME": "/h", "PATH": "/p"})


def evaluated(node: Node, scope: Scope = SCOPE) -> Node:
    """Return the node with its templates evaluated. Raises PlanError with all errors. Each text with an error is
    rejected."""
    findings = Findings()
    found = evaluate(node, scope, findings)
    assert found.sound is not findings.failed
    if findings.failed:
        raise PlanError(*findings.all())
    return found


def value(text: str, scope: Scope = SCOPE) -> Any:
    return evaluated(Node(text, Span("f", 1, 1, len(text))), scope).plain()


def problems(text: str, scope: Scope = SCOPE) -> tuple[Diagnostic, ...]:
    with pytest.raises(PlanError) as caught:
        value(text, scope)
    return caught.value.diagnostics


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("${vars.runtime}", "30s"),
        ("${vars.qd}", 128),
        ("${vars.yes}", True),
        ("${vars.half}", 0.5),
        ("${vars.depths}", [1, 2]),
        ("${vars.disk}", {"serial": "S1"}),
        ("${vars.disk.serial}", "S1"),
        ("qd-${vars.qd}-${vars.half}-${vars.yes}", "qd-128-0.5-true"),
        ("${ vars.qd }", 128),
        ("${host.name}:${host.address}:${host.labels.arch}", "altra:10.0.0.7:aarch64"),
        ("${host.vars.disk}", "/dev/sda"),
        ("${plan.name}", "lab"),
        ("${env.HOME}", "/h"),
        ("$${vars.qd}", "${vars.qd}"),
        ("$$5 $5 $", "$5 $5 $"),
        ("${'}'}", "}"),
        ("${vars.qd * 2 + 1}", 257),
        ("${(vars.qd + 2) // 4 % 10}", 2),
        ("${-vars.qd - -1}", -127),
        ("${vars.qd * vars.half}", 64.0),
        ("${vars.size * 2}", 131072),
        ("${vars.size + 4KiB}", 69632),
        ("${vars.runtime * 2}", "1m"),
        ("${vars.runtime + 500ms}", "30.5s"),
        ("${vars.runtime // 2}", "15s"),
        ("${vars.runtime // 7s}", 4.0),
        ("${vars.runtime % 7s}", "2s"),
        ("${vars.runtime - 40s}", "-10s"),
        ("for ${max(vars.runtime, 1m)}", "for 1m"),
        ("${min(vars.qd, 64, 99)}", 64),
        ("${floor(vars.half * 3)} ${ceil(vars.half * 3)}", "1 2"),
        ("${floor(vars.runtime)}", "30s"),
        ("${vars.qd > 3 and not vars.yes or vars.size == 65536}", True),
        ("${1 < vars.qd <= 128}", True),
        ("${vars.word == 'randread'}", True),
        ('${vars.word != "read"}', True),
        ("${vars.yes == 1}", False),
        ("${vars.qd == vars.word}", False),
        ("${1e3}", 1000.0),
        ("${true}", True),
        ("${vars.odd}", "${vars.qd}"),
        ("${not (vars.qd // 1 == 0 or false)}", True),
    ],
)
def test_values(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "code", "column", "length", "message", "hint"),
    [
        ("${vars.qdd}", "E121", 3, 8, "`vars.qdd` is not defined", "did you mean `vars.qd`?"),
        ("a ${qd}", "E121", 5, 2, "`qd` is not defined", "did you mean `vars.qd`?"),
        ("${vars}", "E121", 3, 4, "`vars` is not a value", "`vars.name`"),
        ("${vars.disk.serail}", "E121", 3, 16, "is not defined", "did you mean `serial`?"),
        ("${vars.qd.x}", "E121", 3, 9, "is not defined", "is not a map"),
        ("${host.vars.dsk}", "E121", 3, 13, "for host `altra`", "did you mean `disk`?"),
        ("${host.labels.rack}", "E121", 3, 16, "for host `altra`", "add it under `labels`"),
        ("${host.cpus}", "E121", 3, 9, "`host.cpus` is not defined", "known: address"),
        ("${plan.nam}", "E121", 3, 8, "is not defined", "did you mean `name`?"),
        ("${env.PATH}", "E121", 3, 8, "does not list `PATH`", "`inputs: [HOME, PATH]`"),
        ("${needs.cahe.x}", "E121", 3, 12, "`cahe` is not an alias defined in `needs`", "did you mean `cache`?"),
        ("${needs.cache}", "E121", 3, 11, "is not a value", "name of a result"),
        ("${vars.qd / 2}", "E120", 11, 1, "`/` is not part", "write `//`"),
        ("${vars.qd ** 2}", "E120", 12, 1, "`*` is not a value", "write a number"),
        ("${vars.qd = 2}", "E120", 11, 1, "`=` is not part", "write `==`"),
        ("${vars.qd 2}", "E120", 11, 1, "unexpected `2`", "add an operator"),
        ("${vars.qd[0]}", "E120", 10, 1, "`[` is not part", "lists are not supported"),
        ("${(vars.qd}", "E120", 3, 1, "`(` is not closed", "add `)`"),
        ("${eval('x')}", "E120", 3, 4, "unknown function `eval`", "min, max, floor, ceil"),
        ("${floor(1, 2)}", "E120", 3, 5, "takes one value", ""),
        ("${vars.}", "E120", 7, 1, "`.` is not part", "a name on both sides"),
        ("${''.__class__}", "E120", 5, 1, "`.` is not part", "a name on both sides"),
        ("${4k}", "E120", 3, 2, "ambiguous size", "`4K`"),
        ("${}", "E120", 1, 3, "the template is empty", "`${vars.name}`"),
        ("a ${vars.qd", "E120", 3, 2, "`${` is not closed", "`$$`"),
        ("${vars.qd +}", "E120", 12, 1, "ends without a value", "write a number"),
        ("${vars.qd // 0}", "E122", 14, 1, "division by zero", "other than 0"),
        ("${1 % 0.0}", "E122", 7, 3, "division by zero", "other than 0"),
        ("${vars.word + 1}", "E122", 3, 9, "`randread` is not a number", "number"),
        ("${vars.yes + 1}", "E122", 3, 8, "`true` is not a number", "number"),
        ("${vars.qd and true}", "E122", 3, 7, "`128` is neither true nor false", "comparison"),
        ("${vars.runtime + 5}", "E122", 16, 1, "a duration and a plain number", "unit"),
        ("${vars.runtime * 5s}", "E122", 16, 1, "a duration and a duration", "one side"),
        ("${5 // vars.runtime}", "E122", 5, 2, "cannot combine", "one side"),
        ("${min(vars.runtime, 5)}", "E122", 3, 3, "durations and plain numbers", "unit"),
        ("${9000000000000000000 * 9}", "E122", 23, 1, "out of range", "2^63"),
        ("${1e300 * 1e300}", "E122", 9, 1, "out of range", "2^63"),
        ("x ${vars.depths}", "E122", 5, 1, "a list cannot be part of text", "whole value"),
        ("x ${vars.disk}", "E122", 5, 1, "a map cannot be part of text", "whole value"),
        ("${" + "(" * 60 + "1" + ")" * 60 + "}", "E120", 33, 1, "nested too deeply", "`vars`"),
        ("${" + "-" * 60 + "1}", "E120", 62, 1, "nested too deeply", "`vars`"),
        ("${" + "1+" * 2000 + "1}", "E120", 3, 1, "more than 2000 characters", ""),
    ],
)
def test_errors_at_their_place(text: str, code: str, column: int, length: int, message: str, hint: str) -> None:
    (found,) = problems(text)
    assert found.code == code
    assert found.span is not None
    assert (found.span.column, found.span.length) == (column, length)
    assert message in found.message
    assert hint in found.hint


def test_places_in_quoted_and_in_escaped_text() -> None:
    for text, column in (("a: '${vars.x}'", 7), ('a: "${vars.x}"', 7), ("a: ${vars.x}", 6), ("a: '''${vars.x}'", 4)):
        with pytest.raises(PlanError) as caught:
            evaluated(node_of(text))
        (found,) = caught.value.diagnostics
        assert where(found).endswith(f" f:1:{column}"), text


def test_every_error_of_a_node_at_once() -> None:
    with pytest.raises(PlanError) as caught:
        evaluated(node_of("{a: '${vars.x}', b: ['${vars.y} ${vars.z}'], c: '${'}"))
    assert [item.code for item in caught.value.diagnostics] == ["E121", "E121", "E121", "E120"]


def test_deep_over_lists_and_maps_with_places() -> None:
    node = node_of("a: [1, '${vars.qd}']\nb: {c: 'x${vars.qd}'}\nd: same")
    found = evaluated(node)
    assert found.plain() == {"a": [1, 128], "b": {"c": "x128"}, "d": "same"}
    assert found.value["a"].value[1].span == node.value["a"].value[1].span
    assert found.value["d"] is node.value["d"]


def test_a_node_without_templates_comes_back_itself() -> None:
    node = node_of("a: [1, {b: c}]")
    assert evaluated(node) is node
    assert not has_template(node)
    assert has_template(node_of("a: [{b: '${c}'}]"))


def test_what_is_not_known_here() -> None:
    bare = Scope(VARS)
    assert "is not available here" in problems("${host.name}", bare)[0].message
    assert "is not available here" in problems("${needs.cache.x}", bare)[0].message


def test_an_environment_variable_that_is_not_set() -> None:
    scope = Scope(inputs=("ABSENT",), environment={})
    assert problems("${env.ABSENT}", scope)[0].message == "the environment variable `ABSENT` is not set"


def test_results_of_needs_stay_pending() -> None:
    found = evaluated(Node("${needs.cache.dram.size * vars.qd}", Span("f", 3, 5, 34))).value
    assert isinstance(found, PendingValue)
    assert found.aliases == ("cache",)
    assert found.paths == (("cache.dram.size", Span("f", 3, 7, 21)),)
    assert found.values == {"vars.qd": 128}
    assert evaluate_pending(found.text, {"cache.dram.size": 10}, found.values) == 1280


def test_pending_text_and_what_can_go_wrong_with_it() -> None:
    assert evaluate_pending("x${needs.a.b}$$", {"a.b": 3}, {}) == "x3$"
    for text, needs, code in (
        ("${needs.a.b}", {}, "E121"),
        ("${1 // needs.a.b}", {"a.b": 0}, "E122"),
        ("${needs.a.b +", {"a.b": 0}, "E120"),
    ):
        with pytest.raises(PlanError) as caught:
            evaluate_pending(text, needs, {})
        assert [item.code for item in caught.value.diagnostics] == [code]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${needs.a.b}", "`needs.a.b` was not measured"),
        ("${needs.a.c + needs.a.b}", "`needs.a.b`, `needs.a.c` were not measured"),
    ],
)
def test_every_result_that_is_missing_is_named(text: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        evaluate_pending(text, {}, {})
    assert [item.message for item in caught.value.diagnostics] == [message]


AXES = ("iodepth", "numjobs", "block_size", "rw", "duration")


@pytest.mark.parametrize(
    ("text", "point", "expected"),
    [
        ("iodepth * numjobs <= vars.qd", {"iodepth": 32, "numjobs": 4}, True),
        ("iodepth * numjobs <= vars.qd", {"iodepth": 33, "numjobs": 4}, False),
        ("block_size <= 64K and rw == 'randread'", {"block_size": 65536, "rw": "randread"}, True),
        ("block_size <= vars.size", {"block_size": "128K"}, False),
        ("block_size == '4K'", {"block_size": 4096}, True),
        ("host.labels.arch == 'aarch64'", {}, True),
        ("duration >= 30s", {"duration": 30.0}, True),
        ("duration < vars.runtime", {"duration": "5s"}, True),
        ("not (iodepth == 1 or numjobs == 1)", {"iodepth": 1, "numjobs": 2}, False),
        ("iodepth != 0 and 8 // iodepth > 1", {"iodepth": 0}, False),
        ("vars.yes", {}, True),
        ("true", {}, True),
    ],
)
def test_where(text: str, point: dict[str, Any], expected: bool) -> None:
    assert compile_where(node_of(f'"{text}"'), AXES, SCOPE)(point) is expected


def test_where_says_which_axes_it_reads() -> None:
    condition = compile_where(node_of("numjobs < iodepth and numjobs > vars.qd"), AXES, SCOPE)
    assert condition.names == ("numjobs", "iodepth")


@pytest.mark.parametrize(
    ("text", "code", "column", "message"),
    [
        ("w: iodpth < 3", "E121", 4, "`iodpth` is not an axis"),
        ("w: rw == randread", "E121", 10, "`randread` is not an axis"),
        ("w: needs.cache.x > 1", "E121", 4, "`where` cannot read results"),
        ("w: vars.nothing > 1", "E121", 4, "`vars.nothing` is not defined"),
        ("w: iodepth =< 4", "E120", 12, "`=` is not part"),
        ("w: iodepth & 4", "E120", 12, "`&` is not part"),
        ("w: '${iodepth > 4}'", "E123", 4, "is not a condition"),
        ("w: [1]", "E123", 4, "is not a condition"),
        ("w: 1", "E123", 4, "is not a condition"),
    ],
)
def test_a_where_that_cannot_be_compiled(text: str, code: str, column: int, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        compile_where(node_of(text).value["w"], AXES, SCOPE)
    (found,) = caught.value.diagnostics
    assert where(found) == f"{code} f:1:{column}"
    assert message in found.message


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("w: iodepth + 1", "E123", 4),
        ("w: 8 // iodepth > 1", "E122", 9),
        ("w: rw > 1", "E122", 4),
        ("w: not rw", "E122", 8),
    ],
)
def test_a_where_that_cannot_be_computed(text: str, code: str, column: int) -> None:
    condition = compile_where(node_of(text).value["w"], AXES, SCOPE)
    with pytest.raises(PlanError) as caught:
        condition({"iodepth": 0, "rw": "read"})
    (found,) = caught.value.diagnostics
    assert where(found) == f"{code} f:1:{column}"


NAMES = ("vars.qd", "vars.runtime", "needs.cache.x", "host.name", "vars", "1", "0", "4K", "30s", "1e308", "9" * 30)
MARKS = ("${", "}", " ", "+", "-", "*", "//", "%", "<", "==", "(", ")", "min(", ",", "not ", " and ", " or ", "'", '"')
EXPRESSION = st.lists(
    st.sampled_from((*NAMES, *MARKS, "$", "$$", ".")),
    max_size=25,
).map("".join)


@given(st.one_of(EXPRESSION, EXPRESSION.map(lambda text: "${" + text + "}"), st.text()))
def test_hostile_templates_end_in_diagnostics(text: str) -> None:
    try:
        evaluated(Node(text, Span("f", 1, 1, max(1, len(text)))))
        evaluate_pending(text, {"cache.x": 3}, {"vars.qd": 1, "vars.runtime": "30s"})
    except PlanError as problem:
        for item in problem.diagnostics:
            assert item.code in ("E120", "E121", "E122")
            assert item.message.isprintable()
            assert item.span is None or 1 <= item.span.column <= len(text) + 1


@given(st.one_of(EXPRESSION, st.text()), st.one_of(st.integers(), st.text(), st.booleans(), st.floats(allow_nan=False)))
def test_hostile_conditions_end_in_diagnostics(text: str, value: object) -> None:
    names = ("vars.qd", "iodepth")
    try:
        compile_where(Node(text.replace("vars.qd", "iodepth"), Span("f", 1, 1, 9)), names, SCOPE)({"iodepth": value})
    except PlanError as problem:
        assert problem.diagnostics
