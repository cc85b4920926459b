"""Block devices and file systems."""

from __future__ import annotations

from asct.facts.sources.model import Command, Folders

FILES: tuple[str, ...] = ("/proc/self/mounts",)
FOLDERS: tuple[Folders, ...] = ()
COMMANDS: tuple[Command, ...] = (("df", 'df -P -k -- "$work"'),)
LASTING: tuple[Command, ...] = ()
