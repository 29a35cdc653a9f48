"""A key-value store as a Worldline domain; see README.md."""
