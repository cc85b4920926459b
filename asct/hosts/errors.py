"""The diagnostics of transports: one function per cause, each with a hint on how to fix it."""

from __future__ import annotations

from collections.abc import Sequence

from asct.diagnostics.model import Diagnostic, Span
from asct.diagnostics.suggest import did_you_mean

QUOTED = 500
"""Maximum number of characters that a diagnostic quotes from a host's own message."""


def unknown_transport(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic("E301", f"unknown transport `{name}`", span=span, hint=did_you_mean(name, known))


def unresolved(place: str, detail: str) -> Diagnostic:
    return Diagnostic(
        "E303", f"{place}: the host name cannot be resolved ({detail})", hint="check `address`, or use an IP address"
    )


def unreachable(place: str, detail: str) -> Diagnostic:
    hint = (
        "check that the host is running and that its address, the routing and firewalls allow a connection from this "
        "machine"
    )
    return Diagnostic("E304", f"{place}: cannot connect ({detail})", hint=hint)


def port_refused(place: str) -> Diagnostic:
    hint = "check that an ssh server runs on the host, and check `port`"
    return Diagnostic("E305", f"{place}: the connection was refused", hint=hint)


def silent_server(place: str, seconds: float) -> Diagnostic:
    hint = "check that an ssh server listens on this port and that the host is not overloaded"
    return Diagnostic("E306", f"{place}: no ssh greeting within {seconds:g} s of connecting", hint=hint)


def unknown_key(place: str, line: str, fingerprint: str, file: str) -> Diagnostic:
    return Diagnostic(
        "E307",
        f"{place}: the host key is unknown",
        hint=f"if the fingerprint is correct, add this line to {file}",
        verbatim=line,
        notes=(
            (f"fingerprint presented: {fingerprint}", None),
            ("compare it on the host's console: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub", None),
        ),
    )


def changed_key(place: str, shown: str, expected: str, file: str) -> Diagnostic:
    return Diagnostic(
        "E308",
        f"{place}: the host key has changed: either the host was reinstalled, or the connection is being intercepted",
        hint=f"find out why the key changed; replace the host's line in {file} only if the new key is legitimate",
        notes=((f"presented {shown}", None), (f"expected  {expected}", None)),
    )


def revoked_key(place: str, shown: str) -> Diagnostic:
    return Diagnostic(
        "E315",
        f"{place}: the host key is marked @revoked in known_hosts and does not prove the identity of the host",
        hint="generate a new host key (remove the old one, run `ssh-keygen -A`) and add it to known_hosts",
        notes=((f"fingerprint presented: {shown}", None),),
    )


def login_refused(place: str, user: str, detail: str) -> Diagnostic:
    hint = "check `user` and `identity_file`, or load the key into the agent (`ssh-add -l` lists the loaded keys)"
    return Diagnostic("E309", f"{place}: login as `{user}` was refused ({detail})", hint=hint)


def no_sftp(place: str) -> Diagnostic:
    hint = (
        "enable `Subsystem sftp internal-sftp` in sshd_config (dropbear: install sftp-server) and make sure that the "
        "login shell prints nothing"
    )
    return Diagnostic("E310", f"{place}: the ssh server does not provide sftp", hint=hint)


def bad_identity(place: str, file: str, detail: str) -> Diagnostic:
    hint = "set `identity_file` to a readable private key; load a key with a passphrase into the agent (`ssh-add`)"
    return Diagnostic("E311", f"{place}: cannot use the key `{file}`: {detail}", hint=hint)


def bad_known_hosts(file: str, detail: str) -> Diagnostic:
    return Diagnostic(
        "E312", f"cannot read the known_hosts file `{file}`: {detail}", hint="check the host's `known_hosts`"
    )


def no_agreement(place: str, detail: str) -> Diagnostic:
    hint = (
        "run `ssh -v` against the host to find the cause; an old server may offer only algorithms that are no longer "
        "accepted"
    )
    return Diagnostic("E313", f"{place}: the ssh handshake failed ({detail})", hint=hint)


def bad_ssh_config(place: str, detail: str) -> Diagnostic:
    return Diagnostic(
        "E314", f"{place}: {detail}", hint="set `address`, `port` or `jump` in the plan, or correct ~/.ssh/config"
    )


def connection_lost(place: str, doing: str, detail: str = "") -> Diagnostic:
    hint = "the host, its network or its ssh server failed; `asct resume` measures the missing points"
    more = f" ({detail})" if detail else ""
    return Diagnostic("E320", f"{place}: the connection was lost while {doing}{more}", hint=hint)


def interrupted(place: str, program: str) -> Diagnostic:
    message = f"{place}: `{program}` was stopped because the run was interrupted"
    return Diagnostic("E320", message, hint="`asct resume` continues the run")


def no_answer(place: str, doing: str, seconds: float) -> Diagnostic:
    hint = "the host has hung or its network is down; check its console, then run `asct resume`"
    return Diagnostic("E321", f"{place}: no response within {seconds:g} s while {doing}", hint=hint)


def host_locked(place: str, owner: str, pid: str, age_s: str) -> Diagnostic:
    known = pid.isdigit() and pid != "0" and age_s.isdigit()
    activity = f"has been measuring for {_duration(int(age_s))} (process {pid})" if known else "is measuring"
    hint = "a host serves one run at a time: use `--wait 30m` to wait for that run, or continue it with `asct resume`"
    return Diagnostic("E334", f"{place}: the host is locked: {owner} {activity}", hint=hint)


def _duration(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def session_gone(place: str) -> Diagnostic:
    hint = "`asct resume` measures the missing points; find out why the host restarted before you trust its results"
    message = f"{place}: the running task is lost because the host was restarted or its work folder was removed"
    return Diagnostic("E335", message, hint=hint)


def not_back(cause: Diagnostic, seconds: float) -> Diagnostic:
    hint = (
        "the host continues to run its current tasks; when it is reachable again, `asct resume` collects their "
        "results and measures the rest"
    )
    return Diagnostic(cause.code, f"{cause.message}; reconnecting failed for {seconds:g} s", hint=hint)


def not_ended(place: str, seconds: float) -> Diagnostic:
    hint = (
        "the process may be blocked in the Linux kernel (drive, network file system); it then ends only when "
        "the host is restarted"
    )
    return Diagnostic("E321", f"{place}: a task is still running {seconds:g} s after it was told to stop", hint=hint)


def no_work_folder(place: str, base: str, detail: str) -> Diagnostic:
    workdir = f"set the host's `workdir` to a folder that the account can write to (currently `{base}`)"
    hint = next((hint for words, hint in _WAYS_OUT.items() if words in detail), workdir)
    return Diagnostic("E322", f"{place}: cannot open a session: {detail[:QUOTED]}", hint=hint)


_WAYS_OUT = {
    "(util-linux)": "install util-linux on the host: `flock` and `setsid` must be on the account's PATH",
    "asct.lock": "remove the lock file as root: all accounts share it, and asct creates it again",
    "cannot lock": "set the host's `workdir` to a folder on a file system that supports locks (flock)",
    "cannot write": "free space on the host, or set `workdir` to a folder on another file system",
    "cache folder": "correct its owner and permissions, or set XDG_CACHE_HOME on the host",
}
"""Hints for problems that another `workdir` does not solve, by words that occur in the reason reported by the host."""


def path_refused(host: str, path: str, why: str) -> Diagnostic:
    hint = "asct writes and removes files only in its own folders; please report this path"
    return Diagnostic("E323", f"{host}: `{path!s}` is refused: {why}", hint=hint)


def not_regular(host: str, path: str) -> Diagnostic:
    hint = "asct copies only regular files, not links, folders or devices"
    return Diagnostic("E324", f"{host}: `{path}` is not a regular file", hint=hint)


def too_large(host: str, path: str, max_bytes: int) -> Diagnostic:
    hint = "reduce the output of the program, or copy the file yourself"
    return Diagnostic("E325", f"{host}: `{path}` is larger than {max_bytes} bytes", hint=hint)


def file_failed(host: str, path: str, detail: str) -> Diagnostic:
    hint = "check free space and permissions on the host"
    return Diagnostic("E326", f"{host}: `{path}`: {detail}", hint=hint)


def strange_shell(place: str, doing: str, text: str) -> Diagnostic:
    printed = f": it printed `{text.strip()[:200]}`" if text.strip() else ""
    hint = "the account needs `sh` on its PATH and a login shell that runs commands (no nologin, no forced command)"
    return Diagnostic("E327", f"{place}: the shell did not run the command while {doing}{printed}", hint=hint)


def answer_too_long(place: str, program: str, limit: int) -> Diagnostic:
    hint = "redirect the output of the program to a file"
    return Diagnostic("E328", f"{place}: `{program}` printed more than {limit} bytes", hint=hint)


def task_refused(place: str, detail: str) -> Diagnostic:
    hint = "check free space and permissions of the work folder"
    return Diagnostic("E329", f"{place}: cannot prepare the task: {detail[:QUOTED]}", hint=hint)


def not_recorded(host: str, command: str) -> Diagnostic:
    hint = "add an entry to replay.json whose `match` matches the command"
    return Diagnostic("E330", f"{host}: the recording has no entry for `{command}`", hint=hint)


def bad_recording(host: str, file: str, detail: str) -> Diagnostic:
    hint = "set the host's `answers` to a folder with a replay.json"
    return Diagnostic("E331", f"{host}: cannot read the recording `{file}`: {detail}", hint=hint)


def bad_argument(host: str, detail: str) -> Diagnostic:
    hint = "arguments and file contents must not contain NUL; variable names must consist of letters, digits and _"
    return Diagnostic("E332", f"{host}: {detail}", hint=hint)


def cannot_write_here(path: str, detail: str) -> Diagnostic:
    hint = "check free space and permissions of the results folder; everything written so far is kept"
    return Diagnostic("E333", f"cannot write {path}: {detail}", hint=hint)
