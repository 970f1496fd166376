"""A Rego bundle that is followed: the new one is read by a worker of its own before the old one lets go."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

from gerbang.adapters.policy.bundle import bundle_files
from gerbang.adapters.policy.rego import RegoPolicy
from gerbang.compose.policy_watch import Watched
from gerbang.policy.input import PolicyInput
from gerbang.values import Decision


class WatchedRego(Watched[RegoPolicy]):
    """A policy in Rego that follows its file or folder.

    `options` are those of `gerbang.compose.policy_watch.Watched`. `aclose` ends the workers: what is asked
    after it is denied. Workers of a bundle that was swapped out end when its last decision is made.
    """

    bounded = True
    """Each decision has a time-out of its own."""

    def __init__(self, path: str | Path, **options: Any) -> None:
        self._lock = threading.Lock()  # decisions are made in threads as well
        self._deciding: Counter[RegoPolicy] = Counter()
        self._retired: set[RegoPolicy] = set()
        super().__init__(path, **options)

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision of the policy in force. Blocks for as long as a decision may take."""
        policy = self._take()
        try:
            return policy.decide(document)
        finally:
            self._give(policy)

    async def decide_async(self, document: PolicyInput) -> Decision:
        """Return the decision of the policy in force when it was asked."""
        policy = self._take()
        try:
            return await policy.decide_async(document)
        finally:
            self._give(policy)

    async def aclose(self) -> None:
        """Stop looking, and end the workers."""
        await super().aclose()
        with self._lock:
            left = [self._current, *self._retired]
            self._retired.clear()
        for policy in left:
            policy.close()

    def _take(self) -> RegoPolicy:
        with self._lock:
            policy = self._current
            self._deciding[policy] += 1
            return policy

    def _give(self, policy: RegoPolicy) -> None:
        with self._lock:
            self._deciding[policy] -= 1
            if self._deciding[policy]:
                return
            del self._deciding[policy]
            over = policy in self._retired
            self._retired.discard(policy)
        if over:
            policy.close()

    def _retire(self, old: RegoPolicy) -> None:
        with self._lock:
            if self._deciding[old]:
                self._retired.add(old)
                return
            del self._deciding[old]
        old.close()

    def _files(self) -> list[Path]:
        return bundle_files(self._path)

    def _read(self) -> RegoPolicy:
        return RegoPolicy.open(self._path)
