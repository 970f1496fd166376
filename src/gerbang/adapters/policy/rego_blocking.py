"""Decisions for a caller without an event loop: one worker, one decision at a time, bounded waiting."""

import contextlib
import threading
import time
from collections.abc import Iterator

from gerbang.adapters.policy.rego_answer import read_answer
from gerbang.adapters.policy.rego_limits import START_S, waiting_s
from gerbang.adapters.policy.rego_process import Gone, Hello, Nursery, RegoProcess, read_hello
from gerbang.adapters.policy.verdict import Told, denied
from gerbang.policy.input import PolicyInput


class Late(Exception):
    """The worker did not answer in time."""


def next_line(process: RegoProcess, seconds: float) -> bytes:
    """Wait for a line of a worker that owes one. Raises Late and Gone."""
    deadline = time.monotonic() + seconds
    while True:
        process.flush()
        left = deadline - time.monotonic()
        if left <= 0:
            raise Late
        process.wait(left)
        lines = process.lines()
        if len(lines) > 1:
            raise Gone("the worker answered without being asked")
        if lines:
            return lines[0]


def start(nursery: Nursery) -> tuple[RegoProcess, Hello]:
    """Start a worker and wait for its first line. Raises Late and Gone; the worker is then ended."""
    process = nursery.start()
    with _holding(process):
        return process, read_hello(next_line(process, START_S))


@contextlib.contextmanager
def _holding(process: RegoProcess) -> Iterator[None]:
    """Hold a worker while waiting for it; after a failure it is ended."""
    with process.held:
        try:
            if process.stopped:
                raise Gone("the worker was stopped")
            yield
        except (Late, Gone):
            process.stop()
            raise
        finally:
            if process.stopped:
                process.close_pipes()


class BlockingLine:
    """One worker for callers that wait. Safe to use from several threads; they take turns."""

    def __init__(self, nursery: Nursery, version: str, decision_s: float) -> None:
        self._nursery = nursery
        self._version = version
        self._decision_s = decision_s
        self._wait_s = waiting_s(decision_s)
        self._lock = threading.Lock()
        self._process: RegoProcess | None = None

    def adopt(self, process: RegoProcess) -> None:
        """Take a worker that is ready."""
        self._process = process

    def give(self) -> RegoProcess | None:
        """Give the idle worker away, if there is one and nobody uses it."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            process, self._process = self._process, None
            return process
        finally:
            self._lock.release()

    def ask(self, line: bytes, document: PolicyInput) -> Told:
        """Return the decision about one document, which ends in a newline. Raises nothing."""
        if not self._lock.acquire(timeout=self._wait_s):
            return denied("POLICY_TIMEOUT", self._version, f"no worker was free within {self._wait_s:g} s")
        try:
            try:
                return self._ask(line, document)
            except Gone:  # it may have been killed from outside: once more
                return self._ask(line, document)
        except Gone as error:
            text = f"the policy engine crashed on this call ({error})"
            return denied("POLICY_ERROR", self._version, text, "POLICY_CRASHED")
        except Late:
            return denied("POLICY_TIMEOUT", self._version, f"no decision within {self._decision_s:g} s")
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the worker. Whoever waits for it is denied."""
        process = self._process
        if process is not None:
            process.stop()

    def _ask(self, line: bytes, document: PolicyInput) -> Told:
        process = self._process
        if process is not None and process.ended:
            process.stop()
            process = None
        if process is None:
            process = self._process = start(self._nursery)[0]
        try:
            with _holding(process):
                process.send(line)
                return read_answer(next_line(process, self._decision_s), document, self._version)
        except (Gone, Late):
            self._process = None
            raise
