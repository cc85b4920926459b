"""Kernels on hosts: compiled there, or cross-compiled here and pushed; cached by the hash of all that goes in."""

from asct.toolchain.provide import BuiltKernel, provide

__all__ = ["BuiltKernel", "provide"]
