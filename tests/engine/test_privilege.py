"""What asct asks sudo on a host, how often, and the messages if sudo refuses."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest

from asct.engine.programs import Programs, Rights, sudoers_line
from asct.errors import HostTimeout
from asct.hosts import errors
from asct.hosts.base import CommandResult, Host
from asct.registry import installed
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts, System, ToolFact
from asct.sdk.guard import Target, guarded, inspection
from asct.sdk.needs import Needs, Privilege
from asct.sdk.step import Kernel, Step, Tool
from tests.engine import plant

PAGES = Privilege("reserves 2 MiB pages", "chase")
WRITE = Privilege("writes to the device /dev/x", "guard", needed=True)
READ = Privilege("reads the device /dev/x", "guard")


class Asked:
    """A host that responds as sudo would, and counts the requests."""

    def __init__(self, answers: Mapping[str, CommandResult | None]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def execute(self, argv: Sequence[str], *, timeout_s: float = 60.0, stdin: str = "") -> CommandResult:
        if argv[0] == "id":
            return CommandResult(0, "bench\n", "")
        assert list(argv[1:]) == ["--sudo", "", "--describe"]
        self.asked.append(argv[0])
        found = self.answers[argv[0]]
        if found is None:
            raise HostTimeout("h", errors.problem("no_answer", "h", doing="running sudo", seconds=timeout_s))
        return found


OK = CommandResult(0, '{"t":"describe","abi":1}\n', "")
PASSWORD = CommandResult(1, "", "sudo: a password is required\n")


def programs(uid: int | None = 1000) -> Programs:
    facts = HostFacts(host="h", collected_at="", system=System(uid=uid))
    kernels = {"chase": "/c/chase", "guard": "/c/guard"}
    return Programs(facts, kernels, {name: plant.FakeBuilt(path) for name, path in kernels.items()})


def ask(rights: Rights, host: Asked, *wanted: Privilege, uid: int | None = 1000) -> list[tuple[str, str]]:
    found = rights.ask(cast(Host, host), programs(uid), wanted)
    assert {item.code for item in found} <= {"E428"}
    return [(item.severity, item.message) for item in found]


def test_what_is_granted_is_asked_for_once() -> None:
    rights, host = Rights("h", sudo=True), Asked({"/c/chase": OK, "/c/guard": OK})
    assert ask(rights, host, PAGES, WRITE, READ) == [] == ask(rights, host, PAGES)
    assert host.asked == ["/c/chase", "/c/guard"]
    assert rights.granted == {"chase", "guard"}


def test_nothing_is_asked_for_without_sudo_in_the_plan_or_as_root() -> None:
    host = Asked({})
    assert ask(Rights("h", sudo=False), host, PAGES, WRITE) == []
    assert ask(Rights("h", sudo=True), host, PAGES, WRITE, uid=0) == []
    assert ask(Rights("h", sudo=True), host, Privilege("reads what the firmware says of the modules")) == []
    assert host.asked == []


def test_what_is_only_useful_is_told_once_and_what_is_needed_each_time() -> None:
    rights, host = Rights("h", sudo=True), Asked({"/c/chase": PASSWORD, "/c/guard": PASSWORD})
    first = ask(rights, host, PAGES, WRITE, READ)
    assert [severity for severity, _ in first] == ["warning", "error", "warning"]
    assert first[0][1] == (
        "host h: sudo refuses to run chase (sudo: a password is required); the kernel needs root because it reserves "
        "2 MiB pages; the measurement runs without root"
    )
    assert ask(rights, host, PAGES, WRITE, READ) == [first[1]]
    assert host.asked == ["/c/chase", "/c/guard"] and rights.granted == set()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "sudo did not respond within 20 s"),
        (
            CommandResult(3, "", "chase: sudo cannot be run: No such file or directory\n"),
            "sudo cannot be run: No such file",
        ),
        (CommandResult(1, "", ""), "exit status 1, no output"),
        (CommandResult(0, "Welcome!\n", ""), "exit status 0, no output"),
    ],
)
def test_reasons(answer: CommandResult | None, why: str) -> None:
    [(_, message)] = ask(Rights("h", sudo=True), Asked({"/c/chase": answer}), PAGES)
    assert why in message


@pytest.mark.parametrize("path", ["/home/b/.cache/asct/k", "/home/a b\t/,:=*?[x]!#\"@()'$`{};&|<>^%+é/k"])
def test_the_line_of_sudoers_is_one(path: str, tmp_path: Path) -> None:
    file = tmp_path / "sudoers"
    file.write_text(sudoers_line("bench", path, "ab" * 32) + "\n")
    file.chmod(0o440)
    told = subprocess.run(["visudo", "-cf", str(file)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


def test_devices_among_the_targets_want_root() -> None:
    needs = Needs(
        targets=("/dev/a", "/dev/shm/f", "/data/f"), writes_bytes=(("/dev//b", 1), ("", 1)), purges=("/dev/c",)
    )
    found = {item.why: item.needed for item in needs.rights}
    assert found.pop("reads the device /dev/a") is False
    assert found == {"writes to the device /dev//b": True, "writes to the device /dev/c": True}
    fio = Step("s", Tool("fio"))
    for path, root in (("/dev/a", True), ("/dev/shm/f", False), ("/data/f", False)):
        assert guarded(fio, "/usr/bin/fio", [Target(path, "read")]).as_root is root
        assert inspection([Target(path, "write")]).as_root is root
    assert not programs().through_sudo(Step("s", Kernel("chase"), as_root=True))


def with_settings() -> list[tuple[str, dict[str, object]]]:
    """Return every benchmark with each of these settings that it has."""
    chosen: list[dict[str, object]] = [{}, {"pages": "2m"}, {"file_names": ["/dev/a"]}, {"pages": "4k"}]
    return [(name, one) for name in installed().names() for one in chosen if one.keys() <= settings_of(name)]


def settings_of(name: str) -> set[str]:
    benchmark = installed().get(name)
    assert benchmark is not None
    return set(benchmark.params_model.model_fields)


@pytest.mark.parametrize(("name", "settings"), with_settings())
def test_what_a_benchmark_runs_as_root_it_says(name: str, settings: dict[str, object]) -> None:
    """Steps that want root belong to kernels that the needs of their point list, and vice versa."""
    benchmark = installed().get(name)
    assert benchmark is not None
    tools = {tool: ToolFact(path=f"/bin/{tool}", features=["libaio"]) for tool in ("fio", "mpstat")}
    facts = HostFacts(host="h", collected_at="", tools=tools)
    needed = [(item.alias, installed().get(item.benchmark)) for item in benchmark.dependencies]
    examples = {f"{alias}.{field.path}": field.example for alias, one in needed if one for field in one.results}
    params = benchmark.params_model.model_validate(settings)
    context = Context(facts=facts, work="/w", needs=examples)
    wanted = {item.kernel for item in benchmark.needs(params, facts).rights if item.kernel}
    steps = benchmark.steps(params, context)
    assert {step.program.name for step in steps if step.as_root} == wanted
    assert not any(step.as_root for step in benchmark.prepare([params], context))
