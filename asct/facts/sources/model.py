"""The elements of a list of sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FolderSet:
    """The same files of many folders: of every CPU, of every block device.

    `patterns` of a shell find the folders, in the order in which they are taken; `files` are names or patterns below
    each. No more than `most` folders are taken, those with a `device` (hardware) first; how many are left out is noted
    for the fact `field`.
    """

    field: str
    patterns: tuple[str, ...]
    files: tuple[str, ...]
    most: int


Command = tuple[str, str]
"""A command: its name and constant shell text. It limits its own output: `most FIELD 500;` before it takes that many
lines and counts the rest for the fact FIELD."""
