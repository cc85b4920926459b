"""The files and commands that asct reads from a host, as data by subject; exchange.py turns it into one script.

FILES are patterns of a shell for few files each, FOLDERS the same files of many folders; every line of what matches is
taken, up to bounds. Files are read by one process for all, so prefer them to commands, which are a process or more
each. Links are followed. A path with a colon in it cannot be told from what follows: reach it through a link without
one. A file that is not text is read by a command (`od`, `tr`).

COMMANDS are run each time (`$work` is the work folder), LASTING stay as they are for an account until the host is
started again: they are asked for once and kept on the host. Each bounds what it prints by itself, and a program that
may wait for a drive, a file system or what else may hang is run by `limited` or `tell` (exchange.py).
"""

from __future__ import annotations

from asct.facts.sources import cmn, cpu, kernel, memory, network, perf, storage, system
from asct.facts.sources.cpu import CPU
from asct.facts.sources.memory import MM, NODE
from asct.facts.sources.model import Command, FolderSet
from asct.facts.sources.software import PROBES, TOOLS, TRIAL

__all__ = ["COMMANDS", "CPU", "FILES", "FOLDERS", "LASTING", "MM", "NODE", "PROBES", "TOOLS", "TRIAL"]

_SUBJECTS = (cmn, cpu, kernel, memory, network, perf, storage, system)

FILES: tuple[str, ...] = tuple(pattern for subject in _SUBJECTS for pattern in subject.FILES)
FOLDERS: tuple[FolderSet, ...] = tuple(one for subject in _SUBJECTS for one in subject.FOLDERS)
COMMANDS: tuple[Command, ...] = tuple(one for subject in _SUBJECTS for one in subject.COMMANDS)
LASTING: tuple[Command, ...] = tuple(one for subject in _SUBJECTS for one in subject.LASTING)
