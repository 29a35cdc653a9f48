"""Kernels of known servers, one module or package per kind."""
