"""Commands that read text and print it otherwise: sorting, cutting, searching, comparing, dumping."""
