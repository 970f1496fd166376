"""Policy by Rego: a bundle that a worker process evaluates with the regorus engine."""

import asyncio
import importlib.util
import math
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from gerbang.adapters.extras import install_line
from gerbang.adapters.policy.bundle import DEFAULT_ENTRY, Bundle, BundleError, read_bundle
from gerbang.adapters.policy.rego_blocking import BlockingLine, Late, start
from gerbang.adapters.policy.rego_limits import DECISION_S, MAX_INPUT_BYTES
from gerbang.adapters.policy.rego_line import RegoLine
from gerbang.adapters.policy.rego_process import Gone, Hello, Nursery, bundle_line
from gerbang.adapters.policy.verdict import Told, denied
from gerbang.errors import ConfigError, PolicyError
from gerbang.policy.input import PolicyInput
from gerbang.values import Decision


class RegoPolicy:
    """A loaded bundle and its workers: one for each event loop that decides, one for `decide`.

    Make one with `open`. Close it with `close` (or `async with`): its workers end with it, and at the
    latest with this process. Deciding never raises: whatever goes wrong is a denial with `POLICY_ERROR`,
    `POLICY_TIMEOUT` or `POLICY_UNDEFINED`.
    """

    bounded = True
    """Each decision has a time-out of its own."""

    def __init__(self, bundle: Bundle, nursery: Nursery, hello: Hello, decision_s: float) -> None:
        self.bundle = bundle
        self._facts = tuple(hello.facts)
        self._arguments, self._history = (
            hello.fields is None or name in hello.fields for name in ("arguments", "history")
        )
        self._decision_s = decision_s
        self._nursery = nursery
        self._lines: dict[asyncio.AbstractEventLoop, RegoLine] = {}
        self._blocking = BlockingLine(nursery, bundle.version, decision_s)
        self._closed = False
        weakref.finalize(self, nursery.kill_all)

    @classmethod
    def open(
        cls, path: str | Path, *, entry: str = DEFAULT_ENTRY, timeout_s: float = DECISION_S
    ) -> "RegoPolicy":
        """Return the policy of a `.rego` file or a folder of them; `entry` is the rule that decides.

        `timeout_s` bounds one evaluation, in seconds. Raises ConfigError when the engine is not installed,
        and PolicyError, with file, line and column, for a bundle that cannot be used. Starts a worker and
        waits until it has read the bundle.
        """
        if not math.isfinite(timeout_s) or timeout_s <= 0:
            raise ConfigError(f"The time-out of a policy is a number of seconds above 0, not {timeout_s}.")
        if importlib.util.find_spec("regorus") is None:
            raise ConfigError(
                f"Rego policies need an engine that is not installed. Run: {install_line('rego')}"
            )
        bundle = read_bundle(path, entry)
        nursery = Nursery(bundle_line(bundle))
        try:
            process, hello = start(nursery)
        except Late:
            raise PolicyError(f"{path}: the engine did not finish reading the policy. Simplify it.") from None
        except Gone as error:
            raise PolicyError(f"{path}: the engine crashed while it read the policy ({error}).") from None
        if hello.faults or not hello.ready:
            process.kill()
            raise BundleError(hello.faults or [(str(path), 0, 0, "the policy cannot be loaded.")])
        policy = cls(bundle, nursery, hello, timeout_s)
        policy._blocking.adopt(process)
        return policy

    @property
    def version(self) -> str:
        """Digest of the bundle's files and entry point."""
        return self.bundle.version

    def needs(self, tool: str) -> tuple[str, ...]:
        """Return the names of the facts that have to be resolved before a call is decided.

        These are the names below `input.facts` that the bundle reads, whatever the tool.
        """
        return self._facts

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision for one call. Blocks, at most for the time that a decision may take."""
        return self.tell(document).decision

    async def decide_async(self, document: PolicyInput) -> Decision:
        """Return the decision for one call. Many may be asked at once; they share a worker."""
        line = self._line(document)
        if isinstance(line, Told):
            return line.decision
        return (await self._loop_line().ask(line, document)).decision

    def tell(self, document: PolicyInput) -> Told:
        """Return the decision, and what went wrong in words for those who look after the policy. Blocks."""
        line = self._line(document)
        return line if isinstance(line, Told) else self._blocking.ask(line, document)

    def close(self) -> None:
        """End the workers; what waits is denied, and so is what is asked later. Call it from anywhere."""
        self._closed = True
        for line in list(self._lines.values()):
            line.end()
        self._blocking.close()
        self._nursery.kill_all()

    async def aclose(self) -> None:
        """Do what `close` does."""
        self.close()

    async def __aenter__(self) -> "RegoPolicy":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _loop_line(self) -> RegoLine:
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            for other, its in list(self._lines.items()):
                if its.abandoned:
                    its.end()
                    del self._lines[other]
            line = RegoLine(self._nursery, self.version, self._decision_s, self._blocking.give())
            self._lines[loop] = line
        return line

    def _seen(self, document: PolicyInput) -> dict[str, Any]:
        """Return the document as the bundle can see it: the long parts only when it looks at them."""
        seen = document.record()
        if self._arguments:
            seen["arguments"] = document.arguments
        if self._history:
            seen["history"] = document.history.as_dict()
        return seen

    def _line(self, document: PolicyInput) -> bytes | Told:
        if self._closed:
            return denied("POLICY_ERROR", self.version, "the policy is closed", "POLICY_CLOSED")
        try:
            line = orjson.dumps(self._seen(document), default=_plain)  # refuses what the engine rounds
        except (TypeError, ValueError, RecursionError) as error:
            return denied("POLICY_ERROR", self.version, f"the call is no JSON: {error}", "POLICY_INPUT")
        if len(line) > MAX_INPUT_BYTES:
            text = f"the document has {len(line)} bytes; at most {MAX_INPUT_BYTES} are looked at"
            return denied("POLICY_ERROR", self.version, text, "POLICY_INPUT")
        return line + b"\n"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")
