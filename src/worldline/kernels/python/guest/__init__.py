"""The guest side of the Python kernel: a small Python interpreter that runs inside a sealed process.

Everything here runs in a worker of its own (see `worldline.kernels.python.pool`), imports nothing but the
standard library, and reaches the simulated world only through one socket. Scripts are never executed by the
host's `exec`: their syntax tree is walked, and each name, attribute and import passes an allow-list.
"""
