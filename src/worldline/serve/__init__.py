"""Worldline behind the interfaces of others."""
