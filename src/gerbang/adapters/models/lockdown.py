"""Take the network and new programs away from this process, for good, before foreign code is loaded.

Two fences. The audit hook refuses what Python code asks for, on every system. On Linux (x86-64, arm64) a
seccomp filter refuses the system calls themselves, so native code cannot open a socket either; elsewhere
native code is held by nothing but the settings that turn its telemetry off.
"""

import ctypes
import struct
import sys
from typing import Any, Final

_REFUSED_EVENTS: Final = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.posix_spawn",
    "os.system",
    "os.fork",
    "urllib.",
)
_EPERM: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_FILTER_MODE: Final = 2

# System call numbers by machine: (audit architecture, socket, connect, execve, execveat, io_uring_setup,
# io_uring_enter, ptrace). From the Linux tables asm/unistd_64.h and asm-generic/unistd.h.
_MACHINES: Final[dict[str, tuple[int, tuple[int, ...]]]] = {
    "x86_64": (0xC000003E, (41, 42, 59, 322, 425, 426, 101)),
    "aarch64": (0xC00000B7, (198, 203, 221, 281, 425, 426, 117)),
}
_X32_BIT: Final = 0x40000000
"""Set in the call numbers of x32, a second numbering of the same calls on x86-64; they are refused whole."""


def refuse_network() -> bool:
    """Install both fences. Returns True when the system holds native code too (seccomp is on)."""
    sys.addaudithook(_refuse)
    return _seccomp()


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"{event} is refused: this process has no network and starts no programs")


def _seccomp() -> bool:
    if sys.platform != "linux":
        return False
    import os

    machine = _MACHINES.get(os.uname().machine)
    if machine is None or sys.maxsize <= 2**32:
        return False
    program = _program(*machine)
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    pointer = ctypes.c_void_p(ctypes.addressof(header))
    return bool(libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, pointer, 0, 0) == 0)


def _program(architecture: int, refused: tuple[int, ...]) -> bytes:
    """Return the filter: the listed calls and foreign architectures get EPERM, the rest pass."""
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | _EPERM
    tests: list[tuple[int, int]] = [(equal, number) for number in refused]
    if architecture == _MACHINES["x86_64"][0]:
        tests.append((at_least, _X32_BIT))
    lines: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),  # seccomp_data.arch
        (equal, 0, len(tests) + 2, architecture),  # another architecture: jump to the refusal
        (load, 0, 0, 0),  # seccomp_data.nr
    ]
    for place, (kind, number) in enumerate(tests):
        lines.append((kind, len(tests) - place, 0, number))
    lines += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
