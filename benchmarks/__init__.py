"""Benchmarks of the engine against its peers; `python -m benchmarks.engine --help`."""
