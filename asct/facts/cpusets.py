"""Parse sets of CPUs that the Linux kernel prints as lists (`0-3,8`) or masks (`00000000,0000010f`), and resolve
conflicts between these sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from functools import lru_cache

from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.unknown import cpu_mask
from asct.values.cpulist import MAX_CPU, parse_cpulist

Set = frozenset[int]
FileTexts = Mapping[str, str]

_FILE = rf"{CPU}/cpu([0-9]{{1,5}})/(.+)"


@lru_cache(maxsize=4096)
def listed(text: str | None) -> Set | None:
    """Parse a CPU list, which may be empty; return None if it is missing or malformed.

    Results are cached, because many CPUs have the same list.
    """
    if text is None:
        return None
    try:
        return frozenset(parse_cpulist(text.strip()))
    except ValueError:
        return None


def cpus_of(texts: FileTexts, *names: tuple[str, str]) -> Set | None:
    """Return the CPUs from the first valid pair of a list file and a mask file. Old Linux kernels provide only
    masks."""
    for of_list, of_mask in names:
        found = listed(texts.get(of_list))
        found = masked(texts.get(of_mask)) if found is None else found
        if found:
            return found
    return None


@lru_cache(maxsize=4096)
def masked(text: str | None) -> Set | None:
    """Parse a CPU mask, which may be empty; return None if it is missing or malformed."""
    mask = cpu_mask(text)
    return None if mask is None else frozenset(mask)


def differ(texts: FileTexts, *names: tuple[str, str]) -> str:
    """Return the name of the first list file that contradicts the mask file of its pair, or an empty string if there is
    none."""
    for of_list, of_mask in names:
        found, mask = listed(texts.get(of_list)), masked(texts.get(of_mask))
        if None not in (found, mask) and found != mask:
            return of_list
    return ""


def by_cpu(snapshot: Snapshot) -> dict[int, dict[str, str]]:
    """Return the files in the folder of each CPU, keyed by path (`topology/core_id`), in CPU order."""
    texts: dict[int, dict[str, str]] = {}
    for match, text in snapshot.matching(_FILE):
        if int(match[1]) <= MAX_CPU:
            texts.setdefault(int(match[1]), {})[match[2]] = text.strip()
    return dict(sorted(texts.items()))


def agreed(claims: Mapping[int, Set]) -> dict[int, Set]:
    """Return the set to which each CPU belongs, derived from the sets that all CPUs report.

    All members of a set should report the same set. If they do not, because of a bug in the firmware or the Linux
    kernel, each CPU is assigned to one of the sets that contain it: the one reported by the largest share of its own
    members.
    """
    votes = Counter(claims.values())
    if all(votes[claim] == len(claim) for claim in votes):
        return dict(claims)
    shares = {claim: count / len(claim) for claim, count in votes.items()}
    containing: dict[int, list[Set]] = {}
    for claim in votes:
        for cpu in claim:
            containing.setdefault(cpu, []).append(claim)
    return {
        cpu: max(containing.get(cpu, [own]), key=lambda one: (shares[one], one == own)) for cpu, own in claims.items()
    }


def numbered(keys: Mapping[int, Hashable | None]) -> dict[int, int]:
    """Number the groups of CPUs that have the same key, in the order of their first CPUs. CPUs without a key are
    omitted."""
    numbers: dict[Hashable, int] = {}
    return {cpu: numbers.setdefault(key, len(numbers)) for cpu, key in sorted(keys.items()) if key is not None}
