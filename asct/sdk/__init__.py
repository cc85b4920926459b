"""The building blocks of benchmarks. Apart from this package, a benchmark imports only `instruments`, `statistics` and
`values`."""
