"""Which process sent a call, in a form that tells another one on the machine whether it still lives.

A name may go on after a further full stop: that part tells several drivers in one process apart.
"""

import hashlib
import os
from functools import lru_cache
from pathlib import Path

_PROC = Path("/proc")


@lru_cache(maxsize=1)
def process_name() -> str:
    """Return this process's name, `MACHINE.PID.START`; a child made by fork has its own.

    MACHINE is a digest of the boot and of the namespace that pids count in.
    """
    pid = os.getpid()
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        space = os.readlink(_PROC / "self/ns/pid")
    except OSError:  # no such files here: nobody will be able to tell
        return f"-.{pid}.0"
    machine = hashlib.sha256(f"{boot}\n{space}".encode()).hexdigest()[:12]
    return f"{machine}.{pid}.{_start(pid) or 0}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process_name.cache_clear)


def is_gone(name: str) -> bool:
    """Tell whether that process is known to have ended. False as well when it cannot be known from here."""
    rest = name.partition(".")[2]
    pid, _, start = rest.partition(".")
    start = start.partition(".")[0]
    if not is_here(name) or not pid.isdecimal():
        return False
    return _start(int(pid)) != start


def is_here(name: str) -> bool:
    """Tell whether that process is, or was, one of this machine: then `is_gone` can tell."""
    machine = name.partition(".")[0]
    return machine != "-" and machine == process_name().partition(".")[0]


def _start(pid: int) -> str | None:
    """Return when a process began, in clock ticks since boot (proc(5), stat, field 22); None for none."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else fields[19]
