"""The peak memory of this process."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

__all__ = ["peak_memory_mib"]


def peak_memory_mib() -> float:
    """Most memory that this process has had resident, in MiB."""
    status = Path("/proc/self/status")
    if status.is_file():  # what getrusage tells begins with what the parent had when it forked
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found is not None:
            return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024
