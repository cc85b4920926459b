"""Plan keys for a Slurm host: the sbatch options that asct accepts, and the hosts that a list of nodes expands to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Final

from asct.plan.names import MAX_HOSTS
from asct.resources import data
from asct.transports import Option, Transport
from asct.values.error import BadValueError, clip

_ITEM: Final = re.compile(r"(?:[A-Za-z0-9._-]|\[[0-9,-]+\])+", re.ASCII)
_PART: Final = re.compile(r"\[([^\]]*)\]|([^\[]+)")
_NUMBERS: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_READS: Final = "it would read a file on the machine that runs asct"
_HINT: Final = "write one complete option in each item, such as `--qos=high` or `--reservation=lab`"


def nodes_of(text: str) -> list[str]:
    """Return the nodes in a list in Slurm's notation, such as `n1,rack[01-03]x[1,5]`. Raises BadValueError."""
    names: list[str] = []
    for item in re.split(r",(?![^\[]*\])", text.strip()):
        if not _ITEM.fullmatch(item):
            raise BadValueError(f"`{clip(text)}` is not a list of nodes", "write `n1,n2` or `rack[01-16]`")
        parts = [_numbers(text, inside) if inside else [plain] for inside, plain in _PART.findall(item)]
        names += ["".join(chosen) for chosen in itertools.islice(itertools.product(*parts), MAX_HOSTS + 1)]
    if len(names) > MAX_HOSTS:
        raise BadValueError(f"`{clip(text)}` lists more than {MAX_HOSTS} nodes", "shorten the list")
    if len(set(names)) < len(names):
        raise BadValueError(f"`{clip(text)}` lists a node twice", "list each node once")
    return names


def _numbers(text: str, inside: str) -> list[str]:
    """Expand `01-03,7` to 01, 02, 03, 7. All numbers in a range are zero-padded to the width of the first one."""
    found: list[str] = []
    for part in inside.split(","):
        match = _NUMBERS.fullmatch(part)
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if not 0 <= int(last) - int(first) <= MAX_HOSTS:
            raise BadValueError(f"`{clip(text)}` has an invalid range", "write `rack[01-16]`")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found


def option_problem(option: str) -> str:
    """Return the reason why an item of `options` is not allowed, or an empty string if it is allowed. sbatch accepts
    abbreviated long options."""
    name, _, _ = option.partition("=")
    if not option.isprintable() or not re.fullmatch(r"--[A-Za-z][A-Za-z0-9-]*|-[A-Za-z].*", name):
        return "it is not an sbatch option"
    long = name.removeprefix("--") if name.startswith("--") else None
    for reason, options in data(__file__, "words.yaml")["refused"].items():
        for known, letter in options.items():
            if _means(known, long) if long else name[1] == letter:
                return str(reason.format(known))
    if "/" in option and (_means("exclude", long) if long else name[1] == "x"):
        return _READS
    if long and _means("exclusive", long) and option != "--exclusive":
        return "asct always allocates whole nodes"
    return ""


def _means(known: str, long: str) -> bool:
    """Return whether sbatch may interpret `long` as an abbreviation of `known`. `--bb` is a separate option."""
    return known.startswith(long) and not (known == "bbf" and long == "bb")


def control_problem(text: str) -> str:
    """Return the reason why a value cannot be passed to sbatch, or an empty string if it can."""
    return "" if text.isprintable() else "it contains control characters"


def split(values: Mapping[str, object]) -> list[tuple[str, Mapping[str, str]]]:
    """Return the hosts that `nodelist` and `nodes` expand to, or no hosts for a single node. Raises BadValueError.

    For a host `lab`, `nodelist: n[1-2]` results in `lab-n1` and `lab-n2`. `nodes: 2` alone results in `lab-1` and
    `lab-2`, whose nodes Slurm selects.
    """
    nodelist, nodes = values.get("nodelist"), values.get("nodes")
    if nodes is not None and (isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= MAX_HOSTS):
        raise BadValueError(f"`nodes: {clip(nodes)}` is not a valid number of nodes", f"write 1 to {MAX_HOSTS}")
    if not isinstance(nodelist, str):
        chosen = [str(number) for number in range(1, int(nodes or 0) + 1)]
        return [(one, {}) for one in chosen] if len(chosen) > 1 else []
    names = nodes_of(nodelist)
    if nodes is not None and nodes != len(names):
        raise BadValueError(f"`nodes` is {nodes}, but `nodelist` lists {len(names)} nodes", "remove `nodes`")
    return [(name, {"nodelist": name}) for name in names] if len(names) > 1 else []


TRANSPORT: Final = Transport(
    {
        "partition": Option("scalar", "Partition for the jobs", control_problem),
        "account": Option("scalar", "Account that the jobs are charged to", control_problem),
        "nodes": Option("scalar", "Number of nodes; each node becomes a host"),
        "nodelist": Option("scalar", "List of nodes, such as `rack[01-16]`; each node becomes a host"),
        "constraint": Option("scalar", "Features that the node must have", control_problem),
        "options": Option("texts", "Additional sbatch options", option_problem, _HINT),
    },
    split_keys=("nodelist", "nodes"),
    split=split,
)
