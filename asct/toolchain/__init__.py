"""Build kernels on the host, or cross-compile them and copy them to it. Builds are cached by a hash of all their
inputs."""

from asct.toolchain.provide import BuiltKernel, provide

__all__ = ["BuiltKernel", "provide"]
