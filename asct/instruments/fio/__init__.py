"""The fio instrument shared by the storage benchmarks: settings, job files, parsers, metrics, tables and figures."""
