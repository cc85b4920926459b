"""Measuring code that several benchmarks share: fio, drive qualification, the memory kernels, the output of guard."""
