"""Names that the user gave: tables, GPUs, CNNs, configurations and run folders."""
