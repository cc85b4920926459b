"""A mesh by its configuration registers, as the kernel `cmn` prints them."""

from asct.facts.cmn.registers.dump import KERNEL, asked
from asct.facts.cmn.registers.mesh import mesh_of_dump

__all__ = ["KERNEL", "asked", "mesh_of_dump"]
