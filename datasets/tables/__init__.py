"""Tables of measurements, joined with specifications on demand."""
