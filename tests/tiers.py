"""The two tiers of tests: this file declares which tests belong to which group, and which changes call for a group.

A test is fast unless it belongs to a group. `make test` runs the fast tier with SAMPLES, one or a few tests of each
group; `make test-all` runs everything; `.ci/run` runs the fast tier, the groups that the changes call for, and a slice
of the others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from zlib import crc32

SLICES = 8
"""`.ci/run` runs one of this many slices of each group that no change calls for."""


@dataclass(frozen=True)
class Group:
    """A group of slow tests that need the same machinery.

    `files` are prefixes of test ids below tests/, and `marks` are markers. A test with a marker of any group belongs to
    the first group that has its file or one of its markers. `paths` are prefixes of paths in the repository: a change
    below one of them calls for the group.
    """

    name: str
    about: str
    files: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


_STORAGE = (
    "asct/benchmarks/storage", "asct/instruments/fio", "asct/instruments/nvme", "asct/instruments/qualification",
    "asct/instruments/guard_output", "kernels/guard", "tests/disks", "tests/fio",
)  # fmt: skip
_GUARD = (
    "kernels/guard",
    "asct/sdk/guard",
    "asct/instruments/guard_output",
    "asct/planner/safety",
    "tests/kernels/guarding",
)

GROUPS = (
    Group("slurm", "a Slurm cluster on loopback", marks=("slurm",), paths=(
        "asct/hosts", "tests/slurm.py", "tests/fleet.py", "tests/hosts/conftest.py",
    )),
    Group("links", "hosts with a network of their own, whose links fail", files=("hosts/test_links.py",), paths=(
        "asct/hosts", "asct/engine", "tests/netns",
    )),
    Group("chaos", "faults at random moments, and resumed runs", files=("e2e/test_chaos.py", "e2e/test_survival.py"),
        paths=("asct/hosts", "asct/engine", "asct/store", "tests/chaos", "tests/netns")),
    Group("sudo", "privileges and what runs with them", files=("e2e/test_sudo.py", "kernels/test_asroot.py"), paths=(
        "asct/hosts", "asct/engine/programs", "kernels/guard", "tests/sudo.py",
    )),
    Group("drives", "a guest with drives in every state", paths=(*_GUARD, *_STORAGE, "tests/machines"), files=(
        "machines/test_drives.py", "machines/test_guard.py", "machines/test_purges.py",
    )),
    Group("guests", "guests with several NUMA nodes", marks=("machines",), paths=(
        "kernels/", "asct/toolchain", "asct/facts", "asct/instruments/memory", "asct/benchmarks", "tests/machines",
    )),
    Group("ssh", "an ssh server on loopback", marks=("ssh",), paths=(
        "asct/hosts", "asct/toolchain", "tests/sshd.py", "tests/fleet.py", "tests/hosts/conftest.py",
    )),
    Group("browser", "reports in Chromium", marks=("browser",), paths=(
        "templates", "asct/export", "asct/figures", "asct/sdk/figure", "asct/analysis/report", "asct/analysis/key",
        "asct/analysis/topology", "tests/browser", "tests/export",
    )),
    Group("guard", "the kernel that guards targets", files=("kernels/test_guard",), paths=_GUARD),
    Group("devices", "loop devices with limits of the kernel", marks=("disks", "rates"),
        paths=(*_STORAGE, "asct/statistics", "plans/seeds", "tests/seeds")),
    Group("fio", "the real fio", marks=("fio",), paths=_STORAGE),
    Group("compilers", "kernels by both compilers, with sanitizers, in qemu-user", marks=("arm",), files=(
        "kernels/test_assembly.py", "kernels/test_build.py", "kernels/test_load_builds.py",
        "kernels/test_pingpong_builds.py", "kernels/test_stream_builds.py", "kernels/test_vector.py",
    ), paths=("kernels/", "asct/toolchain", "tests/kernels")),
    Group("kernels", "kernels of this machine, run natively", marks=("kernels",), paths=(
        "kernels/", "asct/benchmarks", "asct/instruments/memory", "asct/sdk", "tests/kernels",
    )),
    Group("shells", "scripts for hosts in bash and BusyBox", marks=("shells",), paths=(
        "asct/facts", "asct/disturbances", "tests/facts",
    )),
    Group("commands", "the asct command from end to end", marks=("e2e",), paths=(
        "asct/cli", "asct/engine", "asct/hosts", "asct/planner", "asct/store", "tests/e2e",
    )),
)  # fmt: skip

SAMPLES = (
    "e2e/test_local.py",
    "e2e/test_reuse.py",
    "e2e/test_resume.py",
    "e2e/test_survival.py::test_a_killed_asct_is_resumed_where_its_host_is_by_then",
    "e2e/test_ssh.py::test_the_example_plan_measures_over_ssh",
    "kernels/test_build.py::test_the_kernels_write_a_whole_stream",
    "kernels/test_build.py::test_make_builds_each_folder_out_of_the_tree_for_the_compilers_target[aarch64]",
    "kernels/test_build.py::test_the_aarch64_kernels_write_a_whole_stream[stream-neoverse-n1]",
    "kernels/test_guard_files.py",
    "kernels/test_guard_devices.py",
    "browser/test_report.py::test_every_figure_is_drawn_and_nothing_else_happens",
)
"""Prefixes of the ids of the tests that represent their groups in the fast tier: the real compiler and fio from end to
end, every kernel built and run, all kernels compiled for aarch64 and one run in qemu-user, guard on a loop device, a
run over ssh that is killed and resumed, and a page in Chromium."""


_MACHINERY = frozenset(mark for group in GROUPS for mark in group.marks)
"""A test without any of these markers is fast."""


def group_of(test: str, marks: Collection[str]) -> str:
    """Return the group of a test, given its id below tests/ and its markers; empty for a fast test."""
    if _MACHINERY.isdisjoint(marks) or test.startswith(SAMPLES):
        return ""
    return next(one.name for one in GROUPS if test.startswith(one.files) or not set(one.marks).isdisjoint(marks))


def slice_of(test: str) -> int:
    """Return which of the SLICES slices a test belongs to."""
    return crc32(test.encode()) % SLICES


def called_by(changed: Sequence[str]) -> list[str]:
    """Return the names of the groups that these changed paths call for, those with the most changes first."""
    counts = {group.name: sum(path.startswith(group.paths) for path in changed) for group in GROUPS}
    return sorted((name for name, count in counts.items() if count), key=lambda name: -counts[name])
