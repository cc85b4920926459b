"""The findings of transports: one function per cause, each with the way out."""

from __future__ import annotations

from collections.abc import Sequence

from asct.diagnostics.model import Diagnostic, Span
from asct.diagnostics.suggest import did_you_mean

_SAID = 500
"""Characters of what a host says that a message repeats."""


def unknown_transport(name: str, known: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic("E301", f"unknown transport `{name}`", span=span, hint=did_you_mean(name, known))


def unresolved(place: str, detail: str) -> Diagnostic:
    return Diagnostic(
        "E303", f"{place}: the name cannot be resolved ({detail})", hint="check `address`, or use the IP address"
    )


def unreachable(place: str, detail: str) -> Diagnostic:
    hint = "check that the host is up and that address, network and firewall let this machine reach it"
    return Diagnostic("E304", f"{place}: no connection ({detail})", hint=hint)


def port_refused(place: str) -> Diagnostic:
    hint = "check that an ssh server runs there, and `port`"
    return Diagnostic("E305", f"{place}: the connection was refused", hint=hint)


def silent_server(place: str, seconds: float) -> Diagnostic:
    hint = "check that the port belongs to an ssh server and that the host is not overloaded"
    return Diagnostic("E306", f"{place}: accepts the connection but does not speak ssh within {seconds:g} s", hint=hint)


def unknown_key(place: str, line: str, fingerprint: str, file: str) -> Diagnostic:
    return Diagnostic(
        "E307",
        f"{place}: the host key is not known",
        hint=f"if the fingerprint is right, add this line to {file}",
        verbatim=line,
        notes=(
            (f"the host showed {fingerprint}", None),
            ("compare it on the host's console: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub", None),
        ),
    )


def changed_key(place: str, shown: str, expected: str, file: str) -> Diagnostic:
    return Diagnostic(
        "E308",
        f"{place}: the host key is not the one that is known; somebody may be in between, or it was installed anew",
        hint=f"find out why it changed; only if that is in order replace the host's line in {file}",
        notes=((f"shown    {shown}", None), (f"expected {expected}", None)),
    )


def revoked_key(place: str, shown: str) -> Diagnostic:
    return Diagnostic(
        "E315",
        f"{place}: the host key is marked @revoked in known_hosts; who holds it may not be the host",
        hint="give the host a new key (`ssh-keygen -A` after removing the old one), and list that",
        notes=((f"the host showed {shown}", None),),
    )


def login_refused(place: str, user: str, detail: str) -> Diagnostic:
    hint = "check `user` and `identity_file`, or load the key into the agent (`ssh-add -l` lists what it holds)"
    return Diagnostic("E309", f"{place}: login as `{user}` was refused ({detail})", hint=hint)


def no_sftp(place: str) -> Diagnostic:
    hint = (
        "enable `Subsystem sftp internal-sftp` in sshd_config (dropbear: install sftp-server), and see that the login "
        "shell prints nothing"
    )
    return Diagnostic("E310", f"{place}: the ssh server offers no sftp", hint=hint)


def bad_identity(place: str, file: str, detail: str) -> Diagnostic:
    hint = "name a readable private key, or load a key with a passphrase into the agent (`ssh-add`)"
    return Diagnostic("E311", f"{place}: cannot use the key `{file}`: {detail}", hint=hint)


def bad_known_hosts(file: str, detail: str) -> Diagnostic:
    return Diagnostic(
        "E312", f"cannot read known hosts from `{file}`: {detail}", hint="check `known_hosts` of the host"
    )


def no_agreement(place: str, detail: str) -> Diagnostic:
    hint = "try `ssh -v` to the host; an old server may offer only algorithms that are no longer accepted"
    return Diagnostic("E313", f"{place}: the ssh connection was not set up ({detail})", hint=hint)


def bad_ssh_config(place: str, detail: str) -> Diagnostic:
    return Diagnostic(
        "E314", f"{place}: {detail}", hint="say it in the plan (address, port, jump) or mend ~/.ssh/config"
    )


def connection_lost(place: str, doing: str, detail: str = "") -> Diagnostic:
    hint = "the host, its network or its ssh server went away; `asct resume` measures what is missing"
    more = f" ({detail})" if detail else ""
    return Diagnostic("E320", f"{place}: the connection was lost while {doing}{more}", hint=hint)


def interrupted(place: str, program: str) -> Diagnostic:
    return Diagnostic("E320", f"{place}: `{program}` was ended because the run ends", hint="`asct resume` goes on")


def no_answer(place: str, doing: str, seconds: float) -> Diagnostic:
    hint = "the host hangs or its network is down; look at its console, then `asct resume`"
    return Diagnostic("E321", f"{place}: no answer within {seconds:g} s while {doing}", hint=hint)


def host_locked(place: str, owner: str, pid: str, age_s: str) -> Diagnostic:
    since = (
        f", process {pid} there, since {_span(int(age_s))}" if pid.isdigit() and pid != "0" and age_s.isdigit() else ""
    )
    hint = "one run at a time measures on a host: wait for it, or `asct resume` it to take over and end it"
    return Diagnostic("E334", f"{place}: another run measures there ({owner}{since})", hint=hint)


def _span(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def session_gone(place: str) -> Diagnostic:
    hint = "`asct resume` measures what is missing; look why it was restarted before you trust what it measures"
    message = f"{place}: it was started anew, or its work folder was removed: what ran there is lost"
    return Diagnostic("E335", message, hint=hint)


def not_back(cause: Diagnostic, seconds: float) -> Diagnostic:
    hint = (
        "the host goes on with what it was given: when it can be reached again, `asct resume` takes what was finished "
        "and measures the rest"
    )
    return Diagnostic(cause.code, f"{cause.message}, and no way back within {seconds:g} s", hint=hint)


def not_ended(place: str, seconds: float) -> Diagnostic:
    hint = "a process that hangs in the kernel (a drive, a network file system) goes only with a restart of the host"
    return Diagnostic("E321", f"{place}: a task was told to end and is still there after {seconds:g} s", hint=hint)


def no_work_folder(place: str, base: str, detail: str) -> Diagnostic:
    hint = f"set `workdir` of the host to a folder that the account may write (now `{base}`)"
    if "util-linux" in detail:
        hint = "install util-linux on the host: `flock` and `setsid` have to be on the PATH of the account"
    return Diagnostic("E322", f"{place}: no private work folder: {detail[:_SAID]}", hint=hint)


def path_refused(host: str, path: str, why: str) -> Diagnostic:
    hint = "asct writes and removes only below its own folders; please report this path"
    return Diagnostic("E323", f"{host}: `{path!s}` is refused: {why}", hint=hint)


def not_regular(host: str, path: str) -> Diagnostic:
    hint = "links, folders and devices are never fetched"
    return Diagnostic("E324", f"{host}: `{path}` is not a regular file", hint=hint)


def too_large(host: str, path: str, max_bytes: int) -> Diagnostic:
    hint = "let the program write less, or fetch the file by hand"
    return Diagnostic("E325", f"{host}: `{path}` is larger than {max_bytes} bytes", hint=hint)


def file_failed(host: str, path: str, detail: str) -> Diagnostic:
    hint = "check free space and permissions there"
    return Diagnostic("E326", f"{host}: `{path}`: {detail}", hint=hint)


def strange_shell(place: str, doing: str, text: str) -> Diagnostic:
    seen = f": it printed `{text.strip()[:200]}`" if text.strip() else ""
    hint = "the account needs a POSIX sh on its PATH and a login shell that runs commands (no nologin, forced command)"
    return Diagnostic("E327", f"{place}: the shell did not run the command while {doing}{seen}", hint=hint)


def answer_too_long(place: str, program: str, limit: int) -> Diagnostic:
    hint = "let the program write to a file instead"
    return Diagnostic("E328", f"{place}: `{program}` printed more than {limit} bytes", hint=hint)


def task_refused(place: str, detail: str) -> Diagnostic:
    hint = "check free space and permissions of the work folder"
    return Diagnostic("E329", f"{place}: the task could not be set up: {detail[:_SAID]}", hint=hint)


def not_recorded(host: str, command: str) -> Diagnostic:
    hint = "add an entry with a matching `match` to replay.json"
    return Diagnostic("E330", f"{host}: no recorded answer for `{command}`", hint=hint)


def bad_recording(host: str, file: str, detail: str) -> Diagnostic:
    hint = "the host's `answers` names a folder with a replay.json"
    return Diagnostic("E331", f"{host}: cannot replay `{file}`: {detail}", hint=hint)


def bad_argument(host: str, detail: str) -> Diagnostic:
    hint = "arguments and file texts are without NUL, names of variables are letters, digits and _"
    return Diagnostic("E332", f"{host}: {detail}", hint=hint)


def cannot_write_here(path: str, detail: str) -> Diagnostic:
    hint = "check free space and permissions of the results folder; what was written before is kept"
    return Diagnostic("E333", f"cannot write {path}: {detail}", hint=hint)
