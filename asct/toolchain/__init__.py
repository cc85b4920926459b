"""Kernel builds: compiled on the host, or cross-compiled and copied to it, and cached by a hash of all inputs."""

from asct.toolchain.provide import BuiltKernel, provide

__all__ = ["BuiltKernel", "provide"]
