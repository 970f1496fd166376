"""A policy that follows its file or folder: a good change is swapped in whole, a bad one changes nothing.

A decision is made by one version from beginning to end: it says which. What was asked about under the old
version is decided again when it is used.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from msgspec import Struct

from gerbang.compose.policy import Policy, policy_files, policy_texts
from gerbang.compose.policy_zones import zone
from gerbang.errors import PolicyError, UsageError
from gerbang.policy.bundle import load_bundle
from gerbang.policy.input import PolicyInput
from gerbang.runtime.background import end
from gerbang.values import Decision

_LOG: Final = logging.getLogger("gerbang.policy")

OnSwap = Callable[[str, str], None]
"""Told of a swap: the old version and the new one."""
OnBad = Callable[[PolicyError], None]
"""Told of a change that could not be loaded. The old policy stays in force."""
Recorder = Callable[[str, str, str], None]
"""Records a swap (`policy.swapped`, old version, new version) or one that failed (`policy.not_swapped`)."""

_Mark = tuple[tuple[str, int, int, int], ...]


class PolicyStatus(Struct, frozen=True):
    """How a watched policy stands. `fault` says why the files as they are now do not load; None: they do."""

    version: str
    swaps: int
    fault: str | None


class Followed(Protocol):
    """What can be followed: a policy that says which facts it needs."""

    @property
    def version(self) -> str:
        """Digest of the policy."""
        ...

    def needs(self, tool: str) -> tuple[str, ...]:
        """Return the names of the facts that have to be resolved before a call of the tool is decided."""
        ...


P = TypeVar("P", bound=Followed)


class Watched(Generic[P]):
    """A policy that can change while it is in use, of any kind. Give it to a Gateway like any other.

    `poll_s` is how often the files are looked at once `start` was called; a change counts when they stayed
    the same for one more look, so that a file that is being written is not read half. `on_swap` and `on_bad`
    are called in the event loop (or by `reload`), and must not raise. `recorders` are gateways that it is
    given to: they keep it on record.
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
        self._mark = self._look()
        self._current: P = self._read()
        self._swaps = 0
        self._fault: str | None = None
        self._task: asyncio.Task[None] | None = None
        self.recorders: list[Recorder] = []

    @property
    def current(self) -> P:
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

    def reload(self) -> bool:
        """Read the files now. Returns whether another policy is in force.

        A policy that does not load leaves the old one in force: that is logged, `on_bad` is told, and
        `status` says why.
        """
        self._mark = self._look()
        try:
            return self._swap(self._read())
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
        await end(task)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _watch(self) -> None:
        seen = self._mark
        while True:
            await asyncio.sleep(self._poll_s)
            try:
                seen = await self._follow(seen)
            except Exception as error:  # a callback that raised, say: whoever watches goes on watching
                self._fault = f"following {self._path} failed: {type(error).__name__}"
                _LOG.exception(
                    "The policy %s could not be followed; %s is in force.", self._path, self.version
                )

    async def _follow(self, before: _Mark) -> _Mark:
        """Look once, and take a change whose files stayed as they were since the look before."""
        seen = await asyncio.to_thread(self._look)
        if seen == self._mark or seen != before:
            return seen  # nothing new, or still being written
        self._mark = seen
        loaded: P | PolicyError = await asyncio.to_thread(self._read_or_say)
        if isinstance(loaded, PolicyError):
            self._refuse(loaded)
        elif seen != await asyncio.to_thread(self._look):
            self._mark = ()  # changed while it was read: look again
            self._retire(loaded)
        else:
            self._swap(loaded)
        return seen

    def _look(self) -> _Mark:
        """Return what tells one state of the files from another."""
        found: list[tuple[str, int, int, int]] = []
        with contextlib.suppress(OSError, PolicyError):  # gone, or being replaced: that is a state as well
            for item in self._files():
                said: Any = item.stat()
                found.append((str(item), said.st_mtime_ns, said.st_size, said.st_ino))
        return tuple(found)

    def _files(self) -> list[Path]:
        """Return the files of the policy. Raises OSError and PolicyError."""
        raise NotImplementedError

    def _read(self) -> P:
        """Load the policy as the files are now. Raises PolicyError."""
        raise NotImplementedError

    def _read_or_say(self) -> P | PolicyError:
        try:
            return self._read()
        except PolicyError as error:
            return error

    def _retire(self, old: P) -> None:
        """Let go of a policy that is in force no more."""

    def _swap(self, new: P) -> bool:
        old, self._fault = self._current, None
        if new.version == old.version:
            self._retire(new)
            return False
        self._current = new
        self._swaps += 1
        _LOG.warning(
            "The policy %s was swapped: %s is in force, %s no more.", self._path, new.version, old.version
        )
        for record in self.recorders:
            record("policy.swapped", old.version, new.version)
        if self._on_swap is not None:
            self._on_swap(old.version, new.version)
        self._retire(old)
        return True

    def _refuse(self, error: PolicyError) -> None:
        self._fault = str(error)
        _LOG.error("The policy %s was NOT swapped, %s stays in force: %s", self._path, self.version, error)
        for record in self.recorders:
            record("policy.not_swapped", self.version, "")
        if self._on_bad is not None:
            self._on_bad(error)


class WatchedPolicy(Watched[Policy]):
    """A policy of rules that follows its file or folder."""

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision of the policy in force."""
        return self._current.decide(document)

    def _files(self) -> list[Path]:
        return policy_files(self._path)

    def _read(self) -> Policy:
        return Policy(load_bundle(policy_texts(self._path), zone))
