"""The exceptions of asct. Each exception contains diagnostics and determines the exit code of the command.

| exception | exit code | meaning |
|---|---|---|
| AsctError | 70 | base class |
| UsageError | 2 | an invalid option, or a selection that matches nothing |
| PlanError | 2 | an invalid plan, with all of its errors |
| NotMeasured | 3 | an unfit or unreachable host, or a failed job |
| HostError (NotMeasured) | 3 | the transport failed; `.host` names the host |
| ConnectError (HostError) | 3 | no connection, a refused key or wrong credentials |
| HostLost (HostError) | 3 | the connection broke while in use |
| HostTimeout (HostError) | 3 | no answer within the time limit |
| StoreError | 3 | a results tree that cannot be written, read or trusted |
| NoSuchRun (StoreError) | 2 | no run, or more than one, matches a name |
| SafetyError | 4 | no consent, or a locked host |
| HostLocked (SafetyError) | 4 | another run has locked the host |
| Interrupted | 130, 143 | SIGINT or SIGTERM, after cleaning up |

A failed measurement is not an exception but an outcome in the results tree.
"""

from __future__ import annotations

from typing import ClassVar

from asct.diagnostics.model import Diagnostic
from asct.values.memory import is_out_of_memory


class AsctError(Exception):
    """Base class of all exceptions of asct, with at least one diagnostic."""

    exit_code: ClassVar[int] = 70

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics
        super().__init__("; ".join(item.message for item in diagnostics))


class UsageError(AsctError):
    """An invalid option or argument, or a selection that matches nothing."""

    exit_code = 2


class PlanError(AsctError):
    """An invalid plan."""

    exit_code = 2


class NotMeasured(AsctError):
    """A part of the plan could not be measured."""

    exit_code = 3


class HostError(NotMeasured):
    """A transport failed. `host` is the name of the host in the plan."""

    def __init__(self, host: str, *diagnostics: Diagnostic) -> None:
        self.host = host
        super().__init__(*diagnostics)


class ConnectError(HostError):
    """No connection could be made."""


class HostLost(HostError):
    """The connection broke while it was in use."""


class HostTimeout(HostError):
    """The host did not answer within the time limit."""


class StoreError(AsctError):
    """A results tree cannot be written, read or trusted."""

    exit_code = 3


class NoSuchRun(StoreError):
    """A name matches no run, or more than one."""

    exit_code = 2


class SafetyError(AsctError):
    """An action was refused for safety reasons."""

    exit_code = 4


class HostLocked(SafetyError):
    """Another run has locked the host. `host` is the host's name in the plan; `owner` describes the other run."""

    def __init__(self, host: str, owner: str, *diagnostics: Diagnostic) -> None:
        self.host = host
        self.owner = owner
        super().__init__(*diagnostics)


class Interrupted(AsctError):
    """A signal stopped the command, which has cleaned up."""

    def __init__(self, signal_number: int) -> None:
        self.signal_number = signal_number
        name = {2: "SIGINT", 15: "SIGTERM"}.get(signal_number, str(signal_number))
        super().__init__(Diagnostic("E901", f"interrupted by {name}"))


def exhausted(
    problem: BaseException, instead: str = "stop other programs, then run the command again"
) -> NotMeasured | None:
    """Return an error (E916) if `problem` means that this machine has run out of memory or threads, otherwise None.

    The hint suggests to raise the limit, or what `instead` says.
    """
    if is_out_of_memory(problem):
        message, what = "asct ran out of memory", "memory (`ulimit -v`, the memory limit of the container)"
    elif isinstance(problem, RuntimeError) and "start new thread" in str(problem):
        message, what = "the system cannot start another thread", "threads (`ulimit -u`, `ulimit -v`, pids.max)"
    else:
        return None
    hint = f"raise the limit on {what} or {instead}"
    return NotMeasured(Diagnostic("E916", message, hint=hint))
