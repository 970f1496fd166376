"""The worker process as its owner sees it: started, fed, read and killed; nothing here waits.

Works with an event loop (watch `input_fd` and `output_fd`) and without one (`wait`).
"""

import contextlib
import math
import os
import select
import signal
import subprocess
import sys
import threading
from collections import deque
from typing import Final

import msgspec

from gerbang.adapters.models.child import clean_environment
from gerbang.adapters.policy.bundle import Bundle, Fault

_CHUNK: Final = 65_536
_MAX_LINE: Final = 1_048_576
"""A longer line is not an answer of our worker: its answers are bounded well below."""
_MODULE: Final = "gerbang.adapters.policy.rego_worker"


class Gone(Exception):
    """The worker ended, or wrote something that is no line of its protocol."""


def bundle_line(bundle: Bundle) -> bytes:
    """Return the first line that a worker reads."""
    return msgspec.json.encode({"entry": bundle.entry, "files": bundle.files, "data": bundle.data}) + b"\n"


class RegoProcess:
    """One worker. Lines wait until its pipe takes them.

    Who waits for it in a thread holds `held`, so that nobody closes the pipes under the thread's hands.
    """

    def __init__(self, first_line: bytes) -> None:
        self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and module, no shell)
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=clean_environment({"RUST_BACKTRACE": "0", "PYTHONDONTWRITEBYTECODE": "1"}),
            cwd="/",
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None  # noqa: S101 (for the type checker: made with pipes)
        assert self._process.stdout is not None  # noqa: S101
        self.input_fd = self._process.stdin.fileno()
        self.output_fd = self._process.stdout.fileno()
        os.set_blocking(self.input_fd, False)
        os.set_blocking(self.output_fd, False)
        self.held = threading.Lock()
        self._stopped = False
        self._unsent: deque[bytes] = deque([first_line])
        self._half = b""

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """True once the process has ended; collects it."""
        return self._process.poll() is not None

    @property
    def stopped(self) -> bool:
        """True once somebody stopped it."""
        return self._stopped

    @property
    def over(self) -> bool:
        """True once it was stopped and has ended: nobody needs it any more."""
        return self._stopped and self.ended

    @property
    def blocked(self) -> bool:
        """True while lines wait for the pipe."""
        return bool(self._unsent)

    def send(self, line: bytes) -> None:
        """Take a line and write what the pipe takes now. Raises Gone."""
        self._unsent.append(line)
        if len(self._unsent) == 1:
            self.flush()

    def flush(self) -> None:
        """Write what waits and what the pipe takes now. Raises Gone."""
        try:
            while self._unsent:
                head = self._unsent[0]
                sent = os.write(self.input_fd, head)
                if sent < len(head):
                    self._unsent[0] = head[sent:]
                else:
                    self._unsent.popleft()
        except BlockingIOError:
            return
        except OSError as error:
            raise Gone("the worker is gone") from error

    def lines(self) -> list[bytes]:
        """Return the lines that have arrived. Raises Gone at the end of the stream."""
        try:
            data = os.read(self.output_fd, _CHUNK)
        except BlockingIOError:
            return []
        except OSError as error:
            raise Gone("the worker is gone") from error
        if not data:
            raise Gone("the worker ended")
        whole, newline, half = data.rpartition(b"\n")
        if not newline:
            self._half += data
            if len(self._half) > _MAX_LINE:
                raise Gone("the worker does not keep to its protocol")
            return []
        lines = (self._half + whole).split(b"\n")
        self._half = half
        return lines

    def wait(self, seconds: float) -> None:
        """Wait until there is something to read, or the pipe takes what waits, or the time is up."""
        poll = select.poll()  # not select(), which knows no descriptors above 1023
        poll.register(self.output_fd, select.POLLIN)
        if self.blocked:
            poll.register(self.input_fd, select.POLLOUT)
        poll.poll(math.ceil(seconds * 1000))

    def stop(self) -> None:
        """Kill the worker and its group; `ended` collects it. Closes the pipes unless somebody holds them."""
        self._stopped = True
        process = self._process
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        if self.held.acquire(blocking=False):
            self.close_pipes()
            self.held.release()

    def close_pipes(self) -> None:
        """Close the pipes. For whoever holds a worker that was stopped."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def kill(self) -> None:
        """Stop the worker and wait for its end, which a killed process cannot put off."""
        self.stop()
        self._process.wait()


class Nursery:
    """The workers of one policy, so that none outlives it. Safe to use from several threads."""

    def __init__(self, first_line: bytes) -> None:
        self._first_line = first_line
        self._lock = threading.Lock()
        self._living: list[RegoProcess] = []
        self._closed = False

    def start(self) -> RegoProcess:
        """Start a worker. Raises Gone when the system starts no more processes, and after `kill_all`."""
        with self._lock:
            if self._closed:
                raise Gone("the policy is closed")
            self._living = [process for process in self._living if not process.over]
            try:
                process = RegoProcess(self._first_line)
            except OSError as error:
                raise Gone(f"no worker can be started: {error.strerror or error}") from error
            self._living.append(process)
            return process

    def kill_all(self) -> None:
        """Kill what lives and wait for it. No worker starts after that."""
        with self._lock:
            self._closed = True
            living, self._living = self._living, []
        for process in living:
            process.stop()
        for process in living:
            process.kill()


class Hello(msgspec.Struct):
    """A worker's first line.

    `facts` are the facts that the bundle reads, `fields` the fields of the input; None: perhaps all of them.
    """

    ready: bool = False
    sealed: bool = False
    facts: list[str] = []
    fields: list[str] | None = None
    faults: list[Fault] = []


def read_hello(line: bytes) -> Hello:
    """Return a worker's first line. Raises Gone when it is none."""
    try:
        return msgspec.json.decode(line, type=Hello)
    except msgspec.MsgspecError as error:
        raise Gone("the worker does not keep to its protocol") from error
