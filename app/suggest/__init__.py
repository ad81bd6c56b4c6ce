"""Which configurations to measure next, and a replay of that strategy on existing measurements."""
