"""CNNs as graphs of layers: a zoo by name, readers, counts, memory, schedules."""
