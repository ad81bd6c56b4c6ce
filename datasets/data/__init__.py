"""The shipped tables, each registered with its sha256."""
