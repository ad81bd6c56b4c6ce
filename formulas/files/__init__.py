"""Untrusted files: text, JSON and CSV within limits, and the shapes that stored facts have."""
