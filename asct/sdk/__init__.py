"""The building blocks of benchmarks. A benchmark imports only this package, `instruments`, `statistics` and
`values`."""
