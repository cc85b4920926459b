"""Build measurement kernels on the host, or cross-compile them on this machine and copy them to the host. Builds are
cached under a hash of all their inputs."""

from asct.toolchain.provide import BuiltKernel, provide

__all__ = ["BuiltKernel", "provide"]
