"""Archives and compression: tar, zip, gzip, bzip2, xz, zstd."""
