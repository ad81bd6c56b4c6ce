"""Reading untrusted tables: sizes, columns, schemas and faults."""
