"""Decisions of one event loop, sent down one worker's pipe without waiting for each other.

The worker answers in order, so the oldest unanswered decision is the one it is busy with. When the worker
dies or takes too long, that one is to blame: it is denied (after a crash it gets a second try, for a worker
can also be killed from outside), and all behind it go to the next worker. Nothing here blocks the loop.
"""

import asyncio
import contextlib
from collections import deque
from typing import Final

from gerbang.adapters.policy.bundle import BundleError
from gerbang.adapters.policy.rego_answer import read_answer
from gerbang.adapters.policy.rego_limits import (
    MAX_WAITING,
    RESTARTS,
    RESTARTS_PER_S,
    START_S,
    WINDOW,
    waiting_s,
)
from gerbang.adapters.policy.rego_process import Gone, Nursery, RegoProcess, read_hello
from gerbang.adapters.policy.verdict import Told, denied
from gerbang.policy.input import PolicyInput

_TRIES: Final = 2
_PAUSE_S: Final = 0.05


class _Job:
    """One decision that somebody waits for."""

    __slots__ = ("crashes", "deadline", "document", "future", "line")

    def __init__(
        self, line: bytes, document: PolicyInput, future: asyncio.Future[Told], deadline: float
    ) -> None:
        self.line = line
        self.document = document
        self.future = future
        self.deadline = deadline
        self.crashes = 0


class RegoLine:
    """The decisions of one event loop. Every method is called in that loop, but for `end`."""

    def __init__(
        self, nursery: Nursery, version: str, decision_s: float, process: RegoProcess | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._nursery = nursery
        self._version = version
        self._decision_s = decision_s
        self._wait_s = waiting_s(decision_s)
        self._waiting: deque[_Job] = deque()
        self._sent: deque[_Job] = deque()
        self._process: RegoProcess | None = None
        self._ready = False
        self._since = 0.0  # when the worker took up what it is busy with: the oldest decision, or its start
        self._writing = False
        self._watchdog: asyncio.TimerHandle | None = None
        self._closed = False
        self._tokens, self._counted = float(RESTARTS), self._loop.time()
        if process is not None:
            self._adopt(process, ready=True)

    def ask(self, line: bytes, document: PolicyInput) -> asyncio.Future[Told]:
        """Send one document, which ends in a newline. The future never has an exception."""
        future: asyncio.Future[Told] = self._loop.create_future()
        if self._closed:
            future.set_result(self._denied("POLICY_ERROR", "the policy is closed", "POLICY_CLOSED"))
        elif len(self._waiting) >= MAX_WAITING:
            text = f"{MAX_WAITING} decisions are waiting"
            future.set_result(self._denied("POLICY_ERROR", text, "POLICY_OVERLOADED"))
        else:
            self._waiting.append(_Job(line, document, future, self._loop.time() + self._wait_s))
            self._pump()
        return future

    def close(self) -> None:
        """Deny what waits and end the worker. May be called more than once."""
        self._closed = True
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._drop_process()
        for job in (*self._sent, *self._waiting):
            self._settle(job, self._denied("POLICY_ERROR", "the policy was closed", "POLICY_CLOSED"))
        self._sent.clear()
        self._waiting.clear()

    def end(self) -> None:
        """Do what `close` does, from wherever: in the line's event loop, in another one, or after its end."""
        if self.abandoned:
            self._closed = True
            process, self._process = self._process, None
            if process is not None:
                process.stop()
            return
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            self.close()
        else:
            with contextlib.suppress(RuntimeError):  # closed in this moment
                self._loop.call_soon_threadsafe(self.close)

    @property
    def abandoned(self) -> bool:
        """True when the event loop has been closed under this line."""
        return self._loop.is_closed()

    # The worker's life

    def _pump(self) -> None:
        """Start a worker when one is needed, and give it what it can take."""
        self._watch()
        if self._process is None:
            if self._waiting and self._may_start():
                self._start()
        elif self._ready:
            self._feed(self._process)

    def _start(self) -> None:
        try:
            process = self._nursery.start()
            self._adopt(process, ready=False)
            process.flush()
        except Gone as error:
            self._lost(str(error))

    def _feed(self, process: RegoProcess) -> None:
        try:
            while self._waiting and len(self._sent) < WINDOW:
                job = self._waiting.popleft()
                if job.future.done():
                    continue
                if not self._sent:
                    self._since = self._loop.time()
                self._sent.append(job)
                process.send(job.line)
        except Gone as error:
            self._lost(str(error))
            return
        self._watch_pipe(process)

    def _watch_pipe(self, process: RegoProcess) -> None:
        if process.blocked and not self._writing:
            self._writing = True
            self._loop.add_writer(process.input_fd, self._writable)
        elif self._writing and not process.blocked:
            self._writing = False
            self._loop.remove_writer(process.input_fd)

    def _may_start(self) -> bool:
        now = self._loop.time()
        self._tokens = min(float(RESTARTS), self._tokens + (now - self._counted) * RESTARTS_PER_S)
        self._counted = now
        if self._tokens < 1:
            return False  # the watchdog comes back to it
        self._tokens -= 1
        return True

    def _adopt(self, process: RegoProcess, *, ready: bool) -> None:
        self._process, self._ready, self._since = process, ready, self._loop.time()
        self._loop.add_reader(process.output_fd, self._readable)
        self._watch_pipe(process)

    def _drop_process(self) -> None:
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        self._loop.remove_reader(process.output_fd)
        if self._writing:
            self._writing = False
            self._loop.remove_writer(process.input_fd)
        process.stop()

    def _lost(self, why: str) -> None:
        """The worker is gone: blame the decision it was busy with, keep the others for the next one."""
        process = self._process
        if process is not None:
            with contextlib.suppress(Gone):
                while self._take(process):  # what it answered before it died counts
                    pass
        self._drop_process()
        if self._sent:
            head = self._sent[0]
            head.crashes += 1
            if head.crashes >= _TRIES:
                self._sent.popleft()
                text = f"the policy engine crashed on this call ({why})"
                self._settle(head, self._denied("POLICY_ERROR", text, "POLICY_CRASHED"))
        self._requeue()

    def _requeue(self) -> None:
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
        self._loop.call_soon(self._pump_open)

    def _pump_open(self) -> None:
        if not self._closed:
            self._pump()

    # Events of the loop

    def _writable(self) -> None:
        process = self._process
        if process is None:
            return
        try:
            process.flush()
        except Gone as error:
            self._lost(str(error))
            return
        self._watch_pipe(process)

    def _readable(self) -> None:
        process = self._process
        if process is None:
            return
        try:
            self._take(process)
        except Gone as error:
            self._lost(str(error))
            return
        if self._waiting:
            self._pump()

    def _take(self, process: RegoProcess) -> bool:
        """Settle what has been answered. Returns whether anything had come. Raises Gone."""
        lines = process.lines()
        for line in lines:
            if not self._ready:
                hello = read_hello(line)
                if hello.faults:
                    self._refuse_all(str(BundleError(hello.faults)))
                    raise Gone("the policy cannot be loaded any more")
                self._ready = True
            elif self._sent:
                answer = read_answer(line, self._sent[0].document, self._version)
                self._settle(self._sent.popleft(), answer)
            else:
                raise Gone("the worker answered without being asked")
        if lines:
            self._since = self._loop.time()
        return bool(lines)

    def _refuse_all(self, text: str) -> None:
        for job in self._waiting:
            self._settle(job, self._denied("POLICY_ERROR", text, "POLICY_WORKER"))
        self._waiting.clear()

    # Time

    def _watch(self) -> None:
        if self._watchdog is None and not self._closed:
            self._watchdog = self._loop.call_later(min(self._decision_s, _PAUSE_S * 4), self._look)

    def _look(self) -> None:
        """Look after what takes too long. Runs a few times a second while decisions wait, else not at all."""
        self._watchdog = None
        process = self._process
        if process is not None:
            self._readable()  # first what has come while the loop was busy with other things
        now = self._loop.time()
        if self._process is not None and self._process is process:
            if self._ready and self._sent and now - self._since >= self._decision_s:
                self._drop_process()
                text = f"no decision within {self._decision_s:g} s"
                self._settle(self._sent.popleft(), self._denied("POLICY_TIMEOUT", text))
                self._requeue()
            elif not self._ready and now - self._since >= START_S:
                self._lost(f"no worker was ready within {START_S:g} s")
        self._expire(now)
        if self._process is None and self._waiting:
            self._pump()
        if self._sent or self._waiting:
            self._watch()

    def _expire(self, now: float) -> None:
        text = f"no worker was free within {self._wait_s:g} s"
        for job in self._sent:  # they keep their place, for the answers come in order
            if job.deadline > now:
                break
            self._settle(job, self._denied("POLICY_TIMEOUT", text))
        while self._waiting and (self._waiting[0].deadline <= now or self._waiting[0].future.done()):
            self._settle(self._waiting.popleft(), self._denied("POLICY_TIMEOUT", text))

    def _settle(self, job: _Job, answer: Told) -> None:
        if not job.future.done():
            job.future.set_result(answer)

    def _denied(self, code: str, text: str, cause: str | None = None) -> Told:
        return denied(code, self._version, text, cause)
