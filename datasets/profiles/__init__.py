"""Operation profiles that other profilers exported."""
