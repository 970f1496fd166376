"""Which exceptions out of a tool's own code speak of a connection: not made, lost, or silent for too long.

They tell what went wrong, never that nothing was sent: a function may have made ten requests before the one
that failed. Whoever knows better raises `gerbang.ToolError` with `effect="none"`.
"""

import errno
import socket
from typing import Final, Literal

Fault = Literal["CONNECT_FAILED", "CONNECTION_RESET", "IDLE_TIMEOUT"]

_DEPTH: Final = 8
_BY_CLASS: Final[tuple[tuple[type[BaseException], Fault], ...]] = (
    (TimeoutError, "IDLE_TIMEOUT"),
    (ConnectionRefusedError, "CONNECT_FAILED"),
    (socket.gaierror, "CONNECT_FAILED"),
    (socket.herror, "CONNECT_FAILED"),
    (ConnectionError, "CONNECTION_RESET"),
)
_BY_NUMBER: Final[dict[int, Fault]] = {
    **dict.fromkeys(
        (errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN),
        "CONNECT_FAILED",
    ),
    **dict.fromkeys(
        (errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE, errno.ENETRESET, errno.ENOTCONN),
        "CONNECTION_RESET",
    ),
    errno.ETIMEDOUT: "IDLE_TIMEOUT",
}
_PLAIN: Final[dict[Fault, type[OSError]]] = {
    "CONNECT_FAILED": ConnectionRefusedError,
    "CONNECTION_RESET": ConnectionResetError,
    "IDLE_TIMEOUT": TimeoutError,
}


def fault_in(error: BaseException) -> Fault | None:
    """Return what an exception says of a connection; None for one that speaks of something else.

    Clients wrap what the system told them: what an exception was explicitly raised from, or names as its
    reason or first argument, counts, and of an OSError without a number what it was raised while handling.
    """
    try:
        return _fault(error)
    except Exception:  # an exception's attributes are its tool's, and may do anything when looked at
        return None


def _fault(error: BaseException) -> Fault | None:
    looked: BaseException | int | None = error
    for _ in range(_DEPTH):
        if looked is None:
            return None
        if isinstance(looked, int):
            return _BY_NUMBER.get(looked)
        for kind, fault in _BY_CLASS:
            if isinstance(looked, kind):
                return fault
        looked = _behind(looked)
    return None


def _behind(error: BaseException) -> BaseException | int | None:
    """Return what an exception stands for: the system's number, or another exception."""
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(number, int):
        return number
    for named in (error.__cause__, getattr(error, "reason", None), *error.args[:1]):
        if isinstance(named, BaseException):
            return named
    return error.__context__ if isinstance(error, OSError) else None


def plain(fault: Fault, text: str) -> OSError:
    """Return an exception that says the same and carries nothing else."""
    return _PLAIN[fault](text)
