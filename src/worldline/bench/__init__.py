"""Benchmarks: how faithful a world model is, measured without a judge on recorded reality."""
