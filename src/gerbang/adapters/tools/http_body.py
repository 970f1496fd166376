"""A declarative HTTP tool: its contract, and the body that makes the request."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from gerbang.adapters.tools.egress import Egress, Hop
from gerbang.adapters.tools.http_answer import BrokenBody, Veil, packing, read_body, text_of, value_of
from gerbang.adapters.tools.http_definition import HttpDefinition, is_literal_credential
from gerbang.adapters.tools.http_errors import ERROR_BODY_CHARS, Attempt, failed, status_error
from gerbang.adapters.tools.http_pool import HttpPool
from gerbang.adapters.tools.http_request import Prepared, prepare
from gerbang.audit.redact import MASK
from gerbang.errors import ToolError
from gerbang.values import CallContext, Contract

MAX_BODY_BYTES: Final = 1_048_576
"""An answer is read up to this size, unpacked; the rest is left where it is."""
IDLE_TIMEOUT_S: Final = 30.0
"""Silence that is allowed while an answer comes, in seconds, where the contract says nothing."""
_ERROR_BYTES: Final = 4 * (ERROR_BODY_CHARS + 2_000)
_MARGIN_S: Final = 0.25


class HttpTool:
    """Implements `gerbang.ports.Tool`. Tools of one file share a pool.

    `notes` says what should be better about the definition; it is for the operator, not for the model.
    `defined_by` is `file` for definitions that the operator keeps, `request` for those that were sent
    by somebody who may define tools, `unapproved` for those that nobody stands for.
    """

    blocking = False

    def __init__(
        self,
        contract: Contract,
        definition: HttpDefinition,
        pool: HttpPool,
        egress: Egress,
        notes: tuple[str, ...] = (),
        defined_by: str = "file",
    ) -> None:
        self.contract = contract
        self.definition = definition
        self.notes = notes
        self.defined_by = defined_by
        self._pool = pool
        self._egress = egress

    def __repr__(self) -> str:
        return f"<tool {self.contract.name}: {self.definition.verb[:20]} {self.definition.place.origin}>"

    async def invoke(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Make the request and return what came back. Raises ToolError in the words of the sources."""
        used: list[str] = []

        def secret(name: str) -> str:
            used.append(context.secret(name))
            return used[-1]

        prepared = prepare(
            self.definition,
            arguments,
            tool=self.contract.name,
            secret=secret,
            key=context.idempotency_key if self.contract.honours_key else None,
        )
        # a GET that its contract says changes something is a change, in all that is said of its effect
        attempt = Attempt(self.definition.reads and self.contract.risk.is_read)
        seconds = self.contract.timeout_s
        try:
            # a little less than the executor's own limit: here it is known whether anything was sent
            async with asyncio.timeout(seconds - min(_MARGIN_S, seconds / 10)):
                return await self._exchange(prepared, attempt, context, Veil(tuple(used)))
        except TimeoutError:
            detail = f"no answer within {seconds:g} s"
            raise failed(detail, "TOOL_TIMEOUT", "timeout", attempt.effect()) from None

    def invoke_sync(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Never called: the tool is a coroutine."""
        raise NotImplementedError

    async def previewer(self, /, **arguments: Any) -> str:
        """Say what a call would send, for dry runs and for the people who approve it."""
        try:
            return self.show_request(arguments)
        except ToolError as error:
            return f"Nothing would be sent: {error.message}."

    def show_request(self, arguments: Mapping[str, Any]) -> str:
        """Return the request as a person may see it: secrets by name, sensitive arguments masked."""
        shown = {
            name: MASK if name in self.contract.sensitive else value for name, value in arguments.items()
        }
        made = prepare(
            self.definition, shown, tool=self.contract.name, secret=lambda name: f"${{secret:{name}}}"
        )
        plain = {name for name, parts in self.definition.headers if is_literal_credential(name, parts)}
        lines = [f"{made.method} {made.url}"]
        lines += [f"{name}: {MASK if name in plain else value}" for name, value in made.own.items()]
        if made.body is not None:
            lines += ["", made.body.decode("utf-8", "replace")]
        return "\n".join(lines)

    async def aclose(self) -> None:
        """Close the pool's connections once no call uses them. The next call opens new ones."""
        await self._pool.aclose()

    async def _exchange(self, prepared: Prepared, attempt: Attempt, context: CallContext, veil: Veil) -> Any:
        idle = self.contract.idle_timeout_s or IDLE_TIMEOUT_S
        hop = Hop(self._egress, self.definition.place, attempt, context)
        async with self._pool.client().fetch(prepared, hop, idle) as response:
            status, headers = response.status, response.headers
            refused = status >= 400 or (300 <= status < 400 and status != 304)
            packed = packing(headers)
            cap = _ERROR_BYTES if refused else MAX_BODY_BYTES
            charset = response.charset if "charset" in headers.get("Content-Type", "").lower() else None
            try:
                body = await read_body(response.content, packed, cap)
            except BrokenBody as error:
                detail = f"HTTP {status}, but {error}"
                effect = attempt.effect() if refused or attempt.reads else "happened"
                raise failed(detail, "BAD_BODY", "upstream_error", effect, recoverable=False) from None
            if not refused:
                return value_of(status, headers, body, charset, veil)
            said = text_of(body, response.content_type, charset, veil) or ""
            retry_after = headers.get("Retry-After")
            limit = self.contract.result_max_chars
            raise status_error(status, said, limit=limit, retry_after=retry_after, now=time.time())
