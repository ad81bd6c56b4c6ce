"""Measures training iterations of CNNs on this machine."""
