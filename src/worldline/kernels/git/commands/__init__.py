"""Commands of git, by name."""
