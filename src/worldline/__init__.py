"""Worldline: a language world model for agents."""

__version__ = "0.1.0"
