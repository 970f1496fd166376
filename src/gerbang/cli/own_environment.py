"""What of this process others of its user can read: the environment that it was started with, a core dump."""

import contextlib
import ctypes
import os
import sys
from pathlib import Path
from typing import Final

_STAT: Final = Path("/proc/self/stat")
_ENVIRON: Final = Path("/proc/self/environ")
_ENV_START: Final = 50
"""Field of `/proc/PID/stat` with the address of the first variable (proc(5), `env_start`)."""


def take_out(name: str) -> None:
    """Remove a variable, for programs that this one starts and for those that look at this one.

    Linux shows the memory that the variables were handed over in to every process of the user, also when
    the variable is gone: it is overwritten. Nothing is done where there is no such file.
    """
    if os.environ.pop(name, None) is None or not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = _STAT.read_text().rpartition(")")[2].split()  # the program's name may hold anything
        start = int(fields[_ENV_START - 3])
        block = b"\0" + _ENVIRON.read_bytes()
        before = b"\0" + name.encode() + b"="
        place = block.find(before)
        while start and place >= 0:
            value = place + len(before)
            end = block.find(b"\0", value)
            ctypes.memset(start + value - 1, 0, (len(block) if end < 0 else end) - value)
            place = block.find(before, value)


def leave_no_core() -> None:
    """Have the system write no memory of this process into a file when it crashes."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
