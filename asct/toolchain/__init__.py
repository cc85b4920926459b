"""Build measurement kernels on the host, or cross-compile them on this machine and copy them to the host (`provide` in
provide.py). Builds are cached under a hash of all their inputs."""
