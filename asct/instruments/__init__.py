"""What several benchmarks measure with: fio, drive qualification, the memory kernels, the device watch."""
