"""The Python kernel: scripts run on simulated files, with the output and tracebacks of Debian's Python 3.11."""

from worldline.kernels.python.bridge import FileSystem
from worldline.kernels.python.pool import close_pool
from worldline.kernels.python.run import (
    PythonLimits,
    PythonResult,
    PythonScript,
    PythonUnknown,
    run_module,
    run_python,
)

__all__ = [
    "FileSystem",
    "PythonLimits",
    "PythonResult",
    "PythonScript",
    "PythonUnknown",
    "close_pool",
    "run_module",
    "run_python",
]
