"""Measurement code that several benchmarks share: fio, drive qualification, memory kernels, and guard output."""
