"""The building blocks for benchmarks. Apart from this package, a benchmark imports only `instruments`, `statistics` and
`values`."""
