"""The exceptions of asct. Each carries diagnostics and the exit code it ends the command with.

    AsctError                    70
    ├── UsageError                2  a wrong option, or a selection that matches nothing
    ├── PlanError                 2  a plan that does not hold; all findings at once
    ├── NotMeasured               3  a host unfit or unreachable, a job that failed
    │   └── HostError             3  the transport failed; `.host` names the host
    │       ├── ConnectError         no connection, refused key, wrong credentials
    │       ├── HostLost             the connection broke while in use
    │       └── HostTimeout          no answer in time
    ├── StoreError                3  a results tree that cannot be written or read
    │   └── NoSuchRun             2  no run, or more than one, answers to a name
    ├── SafetyError               4  no consent, or a lock is held
    │   └── HostLocked             4  another run measures on that host
    └── Interrupted         130/143  SIGINT or SIGTERM, after cleaning up

A failing measurement is not an exception: it is an outcome in the results tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from asct.diagnostics.model import Diagnostic


class AsctError(Exception):
    """Base of all; `diagnostics` holds at least one finding."""

    exit_code: ClassVar[int] = 70

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics
        super().__init__("; ".join(item.message for item in diagnostics))

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic]) -> AsctError:
        """The same from any iterable."""
        return cls(*diagnostics)


class UsageError(AsctError):
    """A wrong option or argument, or a selection that matches nothing."""

    exit_code = 2


class PlanError(AsctError):
    """A plan that does not hold."""

    exit_code = 2


class NotMeasured(AsctError):
    """Something that was asked for could not be measured."""

    exit_code = 3


class HostError(NotMeasured):
    """A transport failed; `host` is the name the plan gives it."""

    def __init__(self, host: str, *diagnostics: Diagnostic) -> None:
        self.host = host
        super().__init__(*diagnostics)


class ConnectError(HostError):
    """No connection could be made."""


class HostLost(HostError):
    """The connection broke while it was in use."""


class HostTimeout(HostError):
    """No answer within the time allowed."""


class StoreError(AsctError):
    """A results tree cannot be written, read or trusted."""

    exit_code = 3


class NoSuchRun(StoreError):
    """No run, or more than one, answers to a name that was given."""

    exit_code = 2


class SafetyError(AsctError):
    """Refused for safety."""

    exit_code = 4


class HostLocked(SafetyError):
    """Another run measures on that host; `host` is its name in the plan, `owner` what the holder says of itself."""

    def __init__(self, host: str, owner: str, *diagnostics: Diagnostic) -> None:
        self.host = host
        self.owner = owner
        super().__init__(*diagnostics)


class Interrupted(AsctError):
    """Stopped by a signal, after cleaning up."""

    def __init__(self, signal_number: int) -> None:
        self.signal_number = signal_number
        name = {2: "SIGINT", 15: "SIGTERM"}.get(signal_number, str(signal_number))
        super().__init__(Diagnostic("E901", f"interrupted by {name}"))
