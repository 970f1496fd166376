"""A child process of ours in its own process group, with a clean environment and frames on its pipes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gerbang.adapters.models.frames import FrameError, read_frame, write_frame

_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


class ChildGone(Exception):
    """The child ended, was killed, or wrote something that is not a frame."""


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return all that a child gets to see: a fixed PATH, where modules lie, and `extra`.

    Nothing is inherited, so no key of this process can reach foreign code. Module folders are passed on
    because the child must find the same packages, however this process found them.
    """
    folders = [os.path.abspath(folder) for folder in sys.path if folder]
    return {"PATH": _PATH, "LC_ALL": "C.UTF-8", "PYTHONPATH": os.pathsep.join(folders), **extra}


class Child:
    """A Python child started as `python -P ARGUMENTS`. Its pipes are blocking: use it from a thread.

    `greeted` is for the owner: whether the child's first frame has been read.
    """

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.greeted = False
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and module, no shell)
            [sys.executable, "-P", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=clean_environment(environment),
            cwd="/",
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True until the child has ended."""
        return self._process.poll() is None

    def send(self, value: Any) -> None:
        """Write one frame. Raises ChildGone."""
        assert self._process.stdin is not None  # noqa: S101 (for the type checker: it was made with a pipe)
        try:
            write_frame(self._process.stdin, value)
        except FrameError as error:
            raise ChildGone(str(error)) from error

    def receive(self) -> Any:
        """Wait for one frame. Raises ChildGone."""
        assert self._process.stdout is not None  # noqa: S101 (as above)
        try:
            return read_frame(self._process.stdout)
        except FrameError as error:
            raise ChildGone(str(error)) from error

    def signal_kill(self) -> None:
        """Kill the whole group and return at once. Somebody must still call `kill`, which collects it."""
        with self._lock:  # so that nobody collects the child between the question and the signal
            if self._process.returncode is None and self._process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill the whole group, wait for the end, close the pipes. May be called more than once."""
        self.signal_kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
