"""E3xx: reaching hosts, host keys, the work folder, files on hosts."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E301": CodeText(
        "unknown transport",
        "`transport` says how asct reaches a host: `local` (this machine), `ssh` or `slurm`. `dryrun` only shows what\n"
        "would run, `replay` answers from a folder of recorded answers. `asct list transports` lists them.",
    ),
    "E303": CodeText(
        "the name of the host cannot be resolved",
        "Neither DNS nor /etc/hosts nor ~/.ssh/config knows the host's `address` (without one, its name is\n"
        "the address). Correct it or use the IP address.",
    ),
    "E304": CodeText(
        "the host cannot be reached",
        "No connection came about within the time allowed (10 s, or `options.connect_timeout`): the host is\n"
        "down, there is no route, or a firewall drops packets. Try `ssh HOST` from the same machine.",
    ),
    "E305": CodeText(
        "connection refused",
        "The host is up, but nothing listens on the port. Start its ssh server, or correct `port`.",
    ),
    "E306": CodeText(
        "no ssh server answers",
        "The port accepts connections, but nothing spoke ssh in time. Another service has that port, or the\n"
        "host is too busy to answer.",
    ),
    "E307": CodeText(
        "unknown host key",
        "asct always checks host keys, and it adds none by itself. Compare the fingerprint shown with the one\n"
        "the host itself prints (`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on its console). If they\n"
        "are equal, add the line from the hint to the known_hosts file: the host's `known_hosts`, or\n"
        "~/.ssh/known_hosts.",
    ),
    "E308": CodeText(
        "changed host key",
        "The host showed another key than the one in known_hosts. Either it was installed anew or its address\n"
        "now belongs to another machine, or somebody stands in between. Nothing was sent. Find out why; only\n"
        "then remove the old line (`ssh-keygen -R HOST`) and add the new one.",
    ),
    "E309": CodeText(
        "login refused",
        "The host does not accept the account or its key. asct uses `identity_file`, the keys of the ssh\n"
        "agent and the usual files in ~/.ssh; it never asks for a password. Check `user`, and\n"
        "~/.ssh/authorized_keys on the host.",
    ),
    "E310": CodeText(
        "no sftp",
        "Results come back as files by sftp, which this server does not offer. OpenSSH: `Subsystem sftp\n"
        "internal-sftp` in sshd_config. dropbear: install `sftp-server`. A login script that prints text\n"
        "breaks sftp as well.",
    ),
    "E311": CodeText(
        "the private key cannot be used",
        "The file is missing, unreadable, or has a passphrase. Keys with a passphrase are used through the\n"
        "agent: `ssh-add FILE`.",
    ),
    "E312": CodeText(
        "known_hosts cannot be read",
        "The file exists but cannot be read or has a broken line. Without it no host key can be checked.",
    ),
    "E313": CodeText(
        "no agreement on the ssh connection",
        "Server and client found no common method, or the server hung up while the connection was set up (too\n"
        "many connections, an address that it blocks). `ssh -v HOST` shows more.",
    ),
    "E314": CodeText(
        "~/.ssh/config cannot be used",
        "asct reads HostName, Port, User, IdentityFile and ProxyJump from ~/.ssh/config. This file cannot be\n"
        "read, or uses ProxyCommand. Say it in the plan instead: `address`, `port`, `user`, `identity_file`,\n"
        "`jump`.",
    ),
    "E315": CodeText(
        "revoked host key",
        "The host showed a key that known_hosts marks @revoked: it fell into other hands, or is no longer to be\n"
        "trusted. A key that one file revokes is good in none. Nothing was sent. Give the host a new key.",
    ),
    "E320": CodeText(
        "connection lost",
        "The connection broke while it was in use. What was measured before is kept; `asct resume` measures\n"
        "what is missing. The host ends what was running by itself.",
    ),
    "E321": CodeText(
        "no answer in time",
        "The host did not answer within the time allowed, and the connection was given up: it hangs, or its\n"
        "network is down. The host ends what was running by itself when its own limit passes.",
    ),
    "E322": CodeText(
        "no work folder",
        "asct needs a folder of its own on the host (`workdir`, default /var/tmp/asct). It must belong to the\n"
        "account, must not be a link and nobody else may write there; when it belongs to another account, a\n"
        "folder beside it is used.",
    ),
    "E323": CodeText(
        "path refused",
        "asct writes and removes only below its own folders on a host, and fetches results only under plain\n"
        "names. This path would have left them.",
    ),
    "E324": CodeText(
        "not a regular file",
        "Only regular files are fetched from a host; links, folders, pipes and devices are refused.",
    ),
    "E325": CodeText(
        "file too large",
        "A file on the host is larger than the bound for fetched files. It was not fetched.",
    ),
    "E326": CodeText(
        "a file on the host cannot be read or written",
        "The system of the host refused: the file is missing, a right is missing, or the disk is full.",
    ),
    "E327": CodeText(
        "the account's shell does not run commands",
        "The command was not run as sent. Reasons: a login shell such as nologin or a menu, a forced command\n"
        "in authorized_keys, or no POSIX `sh`. Check with `ssh HOST sh -c 'echo works'`.",
    ),
    "E328": CodeText(
        "answer too long",
        "A short command printed more than 1 MiB. Results belong into files.",
    ),
    "E329": CodeText(
        "a task cannot be set up",
        "The folder or a file of a task could not be made on the host: no space left, or a right is missing.",
    ),
    "E330": CodeText(
        "no recorded answer",
        "The transport `replay` has no entry in replay.json whose `match` fits the command.",
    ),
    "E331": CodeText(
        "a recording cannot be read",
        "`replay` reads replay.json from the folder in the host's `answers`:\n"
        '{"entries": [{"match": "uname *", "status": 0, "files": {"stdout": "Linux\\n"}}]}',
    ),
    "E333": CodeText(
        "a result cannot be written here",
        "A file came from a host, but this machine cannot write it into the results tree: the disk is full or a right\n"
        "is missing. What was written before is kept.",
    ),
    "E332": CodeText(
        "an argument that no host takes",
        "A NUL byte in an argument or text, or a name of a variable that is not made of letters, digits and\n_.",
    ),
    "E334": CodeText(
        "another run measures on the host",
        "A host measures for one run at a time. The lock is held by the processes of that run on the host\n"
        "(/var/tmp/asct.lock; /var/tmp/asct.lock.<uid> says whose), and goes when the last of them is gone. Wait,\n"
        "`asct resume` that run, or end the process named. A run whose asct was killed works off what it was\n"
        "given, and lets the host go half a minute later.",
    ),
    "E335": CodeText(
        "the host was started anew",
        "The connection broke and came back, but the session's folder is not there any more or is of another\n"
        "boot: the host was restarted, or somebody removed the folder. What ran then counts as lost; the rest is\n"
        "measured after it. `asct resume` measures the lost points again.",
    ),
}
