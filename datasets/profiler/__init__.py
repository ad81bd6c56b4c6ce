"""Measure training iterations of CNNs on this machine; only modules named `torch_*` import torch."""
