"""Commands that calculate and query: jq, sqlite3, bc, expr, numfmt, seq."""
