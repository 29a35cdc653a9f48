"""Recording real environments: a sandbox, a real shell in it, and sessions recorded until nothing is left to chance."""
