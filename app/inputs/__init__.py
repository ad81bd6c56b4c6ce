"""What the user named: tables, GPUs, CNNs, configurations and run folders."""
