"""Network interfaces and addresses."""

from __future__ import annotations

from asct.facts.sources.model import Command, Folders

FILES: tuple[str, ...] = ()
FOLDERS: tuple[Folders, ...] = ()
COMMANDS: tuple[Command, ...] = ()
LASTING: tuple[Command, ...] = ()
