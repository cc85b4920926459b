"""Measurement code shared by several benchmarks: fio, drive qualification, memory kernels, and guard output."""
