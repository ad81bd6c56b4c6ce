"""Predicted times: one configuration, many GPUs, streams, and from a profile on another GPU."""
