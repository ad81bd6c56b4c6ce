"""Specifications of GPUs, links and collective algorithms, each value with its source."""
