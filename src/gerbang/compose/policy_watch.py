"""A policy that follows its file or folder: a good change is swapped in whole, a bad one changes nothing.

A decision is made by one version from beginning to end: it says which. What was asked about under the old
version is decided again when it is used.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from gerbang.compose.policy import Policy, policy_files, policy_texts
from gerbang.compose.policy_zones import zone
from gerbang.errors import PolicyError, UsageError
from gerbang.policy.bundle import load_bundle
from gerbang.policy.input import PolicyInput
from gerbang.values import Decision

_LOG: Final = logging.getLogger("gerbang.policy")

OnSwap = Callable[[str, str], None]
"""Told of a swap: the old version and the new one."""
OnBad = Callable[[PolicyError], None]
"""Told of a change that could not be loaded. The old policy stays in force."""

_Mark = tuple[tuple[str, int, int, int], ...]


class PolicyStatus(Struct, frozen=True):
    """How a watched policy stands. `fault` says why the files as they are now do not load; None: they do."""

    version: str
    swaps: int
    fault: str | None


class WatchedPolicy:
    """A policy that can change while it is in use. Give it to a Gateway like any other.

    `poll_s` is how often the files are looked at once `start` was called; a change counts when they stayed
    the same for one more look, so that a file that is being written is not read half. `on_swap` and `on_bad`
    are called in the event loop (or by `reload`), and must not raise.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        on_swap: OnSwap | None = None,
        on_bad: OnBad | None = None,
        poll_s: float = 1.0,
    ) -> None:
        if not poll_s > 0:
            raise UsageError("poll_s takes a number of seconds above 0.")
        self._path = Path(path)
        self._on_swap = on_swap
        self._on_bad = on_bad
        self._poll_s = poll_s
        self._mark = _mark(self._path)
        self._current = Policy.load(self._path)
        self._swaps = 0
        self._fault: str | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def current(self) -> Policy:
        """The policy in force."""
        return self._current

    @property
    def version(self) -> str:
        """Digest of the policy in force."""
        return self._current.version

    @property
    def status(self) -> PolicyStatus:
        """How it stands."""
        return PolicyStatus(self.version, self._swaps, self._fault)

    def needs(self, tool: str) -> tuple[str, ...]:
        """Return the names of the facts that have to be resolved before a call of the tool is decided."""
        return self._current.needs(tool)

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision of the policy in force."""
        return self._current.decide(document)

    def reload(self) -> bool:
        """Read the files now. Returns whether another policy is in force.

        A policy that does not load leaves the old one in force: that is logged, `on_bad` is told, and
        `status` says why.
        """
        self._mark = _mark(self._path)
        try:
            return self._swap(_load(self._path))
        except PolicyError as error:
            self._refuse(error)
            return False

    async def start(self) -> None:
        """Begin to look at the files. May be called again."""
        if self._task is None:
            self._task = asyncio.create_task(self._watch(), name="gerbang policy watch")

    async def aclose(self) -> None:
        """Stop looking. The policy stays in force."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def __aenter__(self) -> "WatchedPolicy":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _watch(self) -> None:
        seen = self._mark
        while True:
            await asyncio.sleep(self._poll_s)
            before, seen = seen, await asyncio.to_thread(_mark, self._path)
            if seen == self._mark or seen != before:
                continue  # nothing new, or still being written
            self._mark = seen
            loaded: Policy | PolicyError = await asyncio.to_thread(_loaded, self._path)
            if seen != await asyncio.to_thread(_mark, self._path):
                self._mark = ()  # changed while it was read: look again
            elif isinstance(loaded, PolicyError):
                self._refuse(loaded)
            else:
                self._swap(loaded)

    def _swap(self, new: Policy) -> bool:
        old, self._fault = self._current, None
        if new.version == old.version:
            return False
        self._current = new
        self._swaps += 1
        _LOG.warning(
            "The policy %s was swapped: %s is in force, %s no more.", self._path, new.version, old.version
        )
        if self._on_swap is not None:
            self._on_swap(old.version, new.version)
        return True

    def _refuse(self, error: PolicyError) -> None:
        self._fault = str(error)
        _LOG.error("The policy %s was NOT swapped, %s stays in force: %s", self._path, self.version, error)
        if self._on_bad is not None:
            self._on_bad(error)


def _load(path: Path) -> Policy:
    return Policy(load_bundle(policy_texts(path), zone))


def _loaded(path: Path) -> Policy | PolicyError:
    try:
        return _load(path)
    except PolicyError as error:
        return error


def _mark(path: Path) -> _Mark:
    """Return what tells one state of the files from another."""
    found: list[tuple[str, int, int, int]] = []
    with contextlib.suppress(OSError, PolicyError):  # gone, or being replaced: that is a state as well
        for item in policy_files(path):
            said: Any = item.stat()
            found.append((item.name, said.st_mtime_ns, said.st_size, said.st_ino))
    return tuple(found)
