"""Requests for approval, and news, sent to an address over HTTP: signed, repeated, never waited for."""

import asyncio
import contextlib
import random
import time
from collections import OrderedDict
from typing import Any, Final

import msgspec
from msgspec import Struct, to_builtins

from gerbang.adapters.approvals.signing import HEADER, sign
from gerbang.errors import ConfigError, UsageError
from gerbang.ports import ApprovalAnswer, ApprovalRequest, Secrets
from gerbang.values import LOCAL
from gerbang.values.record import NewEvent
from gerbang.values.secret import is_secret_name

SIGNING: Final = "webhook_secret"
"""The name of the secret that signs, when no other is given."""
_WAITING: Final = 1_000
_CLOSING_S: Final = 5.0
_KEPT: Final = 1_000


class Delivery(Struct, frozen=True):
    """How a message went: the approval or the run it is about, how often it was sent, what came back.

    `status` is the HTTP status, 0 when none came; `error` says why nothing arrived.
    """

    about: str
    attempts: int
    status: int
    error: str = ""


class Webhook:
    """An approver that tells an address, and leaves the request pending for whoever answers.

    `secret` names the secret that signs. A message that is not taken (anything but 2xx) is sent up to
    `attempts` times, with growing pauses of at most `longest_s` seconds, from `base_s` on; each time has
    `timeout_s` seconds. What has been delivered, and what has not, is in `deliveries` (the newest thousand).
    Answers come back through `Gateway.approve`, the server, the command line, or `Gateway.reply`.
    Raises UsageError for an address that is none.
    """

    def __init__(
        self,
        url: str,
        *,
        secret: str = SIGNING,
        secrets: Secrets | None = None,
        attempts: int = 8,
        base_s: float = 0.5,
        longest_s: float = 60.0,
        timeout_s: float = 10.0,
    ) -> None:
        if not url.startswith(("https://", "http://")):
            raise UsageError("A webhook has an address such as https://approvals.example.org/hook.")
        if not is_secret_name(secret):
            raise UsageError("secret is the name of a secret, not its value.")
        if attempts < 1 or min(base_s, longest_s, timeout_s) <= 0:
            raise UsageError("A webhook is tried once at least, and its times are above 0.")
        self._url = url
        self._secret = secret
        self._secrets = secrets
        self._attempts = attempts
        self._base_s = base_s
        self._longest_s = longest_s
        self._timeout_s = timeout_s
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self.deliveries: list[Delivery] = []

    def use_secrets(self, secrets: Secrets) -> None:
        """Take the signing secret from there, unless secrets were given."""
        self._secrets = self._secrets or secrets

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Have the request sent, once for each number of votes, and leave it waiting."""
        self._key()  # a missing secret is told at once
        mark = f"{request.approval_id}/{len(request.votes)}"
        if mark not in self._sent:
            self._sent[mark] = None
            while len(self._sent) > _KEPT:
                self._sent.popitem(last=False)
            self._send(request.approval_id, "approval.requested", _shown(request))
        return ApprovalAnswer("wait", LOCAL)

    def notify(self, what: Any) -> None:
        """Have news sent: what an `notify` obligation says somebody is to be told of."""
        if isinstance(what, NewEvent):
            self._send(what.run_id, what.kind, msgspec.json.decode(what.body))
        else:
            self._send(what.run_id, "policy.notified", to_builtins(what))

    async def aclose(self) -> None:
        """Give what is being sent a few seconds more, then stop."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSING_S)
        for task in list(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _key(self) -> str:
        secret = None if self._secrets is None else self._secrets.get(self._secret)
        if not secret:
            raise ConfigError(f"The webhook signs with the secret {self._secret!r}, which is not there.")
        return secret

    def _send(self, about: str, kind: str, content: dict[str, Any]) -> None:
        if len(self._tasks) >= _WAITING:
            self._note(Delivery(about, 0, 0, "too many messages wait to be sent"))
            return
        body = msgspec.json.encode({"version": 1, "kind": kind, **content})
        task = asyncio.ensure_future(self._deliver(about, body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, about: str, body: bytes) -> None:
        pause, status, error, tried = self._base_s, 0, "", 0
        try:
            for tried in range(1, self._attempts + 1):
                status, error = await self._post(body)
                if not error:
                    return
                if tried < self._attempts:
                    await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads the load
                    pause = min(2 * pause, self._longest_s)
        except asyncio.CancelledError:
            error = "the gateway was closed first"
            raise
        finally:
            self._note(Delivery(about, tried, status, error))

    async def _post(self, body: bytes) -> tuple[int, str]:
        """Send once. Returns the status, and what was wrong; redirects are not followed."""
        import aiohttp  # takes long to import, and few gateways have a webhook

        try:
            headers = {"Content-Type": "application/json", HEADER: sign(body, self._key(), time.time())}
            timeout = aiohttp.ClientTimeout(total=self._timeout_s)
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(self._url, data=body, headers=headers, allow_redirects=False) as answer,
            ):
                return answer.status, "" if 200 <= answer.status < 300 else f"HTTP {answer.status}"
        except ConfigError as missing:
            return 0, str(missing)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as fault:
            return 0, type(fault).__name__

    def _note(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        del self.deliveries[:-_KEPT]


def _shown(request: ApprovalRequest) -> dict[str, Any]:
    """Return what leaves the process: masked arguments, the preview, and why."""
    hidden = set(request.masked)
    return {
        "approval_id": request.approval_id,
        "run_id": request.run_id,
        "tool": request.tool,
        "risk": request.risk,
        "preview": request.preview,
        "arguments": {
            name: "[redacted]" if name in hidden else value for name, value in request.arguments.items()
        },
        "reasons": list(request.reasons),
        "obligations": list(request.obligations),
        "votes": list(request.votes),
        "tainted": request.tainted,
        "asked_for": {"user": request.principal.user, "tenant": request.principal.tenant},
        "expires_at": request.expires_at,
    }
