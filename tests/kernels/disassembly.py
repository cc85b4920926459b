"""The instructions that a compiler generated for a function, as objdump prints them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

OBJDUMP = {"x86_64": "objdump", "aarch64": "aarch64-linux-gnu-objdump"}
COMMENT = {"x86_64": "[#<]", "aarch64": "(?://|<)"}
"""Patterns for the beginning of a comment or the name of a branch target."""


def instructions(program: tuple[str, Path], function: str) -> list[tuple[int, str]]:
    """Return the address and the text of each instruction of a function. `program` is the architecture and the file."""
    arch, path = program
    command = [OBJDUMP[arch], "-d", "--no-show-raw-insn", f"--disassemble={function}", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(rf"^\s+([0-9a-f]+):\t(.+?)\s*(?:{COMMENT[arch]}.*)?$", text, re.MULTILINE)
    assert found, function
    return [(int(address, 16), re.sub(r"\s+", " ", line).strip()) for address, line in found]
