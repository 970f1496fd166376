"""Requests for approval, and news, sent to an address over HTTP: signed, repeated, never waited for."""

import hashlib
import random
import time
from typing import Any, Final

import msgspec
from msgspec import Struct, to_builtins

from gerbang.adapters.approvals.signing import HEADER, SIGNING, sign
from gerbang.errors import ConfigError, UsageError
from gerbang.ports import ApprovalAnswer, ApprovalRequest, Secrets
from gerbang.values import LOCAL
from gerbang.values.event import NewEvent
from gerbang.values.record import Message
from gerbang.values.secret import is_secret_name

ID_HEADER: Final = "Gerbang-Message"
"""The header that carries a message's id: the same, however often the message is sent."""
_KEPT: Final = 1_000


class Delivery(Struct, frozen=True):
    """How a message went: the approval or the run it is about, how often it was sent, what came back.

    `status` is the HTTP status, 0 when none came; `error` says why it was not taken.
    """

    about: str
    attempts: int
    status: int
    error: str = ""
    message_id: str = ""


class Webhook:
    """An approver that tells an address, and leaves the request pending for whoever answers.

    `secret` names the secret that signs. Messages are kept in the gateway's store until they are taken, by
    any 2xx, and carry an id, so that one that arrives twice can be told. One that is not taken is sent up to
    `attempts` times, with pauses that double from `base_s` to `longest_s` seconds, by this process or by the
    next one that has the same address; each time has `timeout_s` seconds. Of those that this process has
    sent or given up, `deliveries` has the newest thousand.
    Answers come back through `Gateway.approve`, the server, the command line, or `Gateway.reply`.
    Raises UsageError for an address that is none.
    """

    def __init__(
        self,
        url: str,
        *,
        secret: str = SIGNING,
        secrets: Secrets | None = None,
        attempts: int = 24,
        base_s: float = 0.5,
        longest_s: float = 3_600.0,
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
        self._base_s = base_s
        self._longest_s = longest_s
        self._used = False
        self.channel = "webhook:" + hashlib.sha256(url.encode()).hexdigest()[:16]  # an address may hold a key
        self.attempts = attempts
        self.timeout_s = timeout_s
        self.deliveries: list[Delivery] = []

    def use_secrets(self, secrets: Secrets) -> None:
        """Take the signing secret from there, unless secrets were given."""
        self._secrets = self._secrets or secrets

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Leave the request waiting: the gateway's outbox sends it. Raises ConfigError without a secret, and
        when the webhook is not the gateway's approver itself.
        """
        if not self._used:
            raise ConfigError("A webhook sends by the outbox of a gateway: give it as the approver itself.")
        self.signing_key()  # a missing secret is told at once
        return ApprovalAnswer("wait", LOCAL)

    def asking(self, message_id: str, request: ApprovalRequest) -> tuple[str, bytes]:
        """Return the kind and the JSON of a request."""
        self._used = True
        return "approval.requested", _written(message_id, "approval.requested", _shown(request))

    def telling(self, message_id: str, what: Any) -> tuple[str, str, bytes]:
        """Return the run, the kind and the JSON of news: what somebody is to be told of."""
        if isinstance(what, NewEvent):
            body = _written(message_id, what.kind, msgspec.json.decode(what.body))
            return what.run_id, what.kind, body
        return what.run_id, "policy.notified", _written(message_id, "policy.notified", to_builtins(what))

    def pause_s(self, attempts: int) -> float:
        """Return the pause after so many attempts: it doubles, and is spread so that not all come at once."""
        longest = min(self._base_s * 2.0 ** min(attempts - 1, 60), self._longest_s)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads the load

    def ended(self, message: Message) -> None:
        """Note how a message went."""
        about = message.approval_id or message.run_id
        self.deliveries.append(
            Delivery(about, message.attempts, message.status, message.error, message.message_id)
        )
        del self.deliveries[:-_KEPT]

    async def post(self, message: Message) -> tuple[int, str]:
        """Send once. Redirects are not followed."""
        import aiohttp  # takes long to import, and few gateways have a webhook

        try:
            headers = {
                "Content-Type": "application/json",
                ID_HEADER: message.message_id,
                HEADER: sign(message.body, self.signing_key(), time.time()),
            }
            timeout = aiohttp.ClientTimeout(total=self.timeout_s)
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(self._url, data=message.body, headers=headers, allow_redirects=False) as answer,
            ):
                taken = 200 <= answer.status < 300
                return answer.status, "" if taken else f"HTTP {answer.status}"
        except ConfigError as missing:
            return 0, str(missing)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as fault:
            return 0, type(fault).__name__

    def signing_key(self) -> str:
        """Return the secret's value: it signs what is sent, and the answers too. Raises ConfigError."""
        secret = None if self._secrets is None else self._secrets.get(self._secret)
        if not secret:
            raise ConfigError(f"The webhook signs with the secret {self._secret!r}, which is not there.")
        return secret


def _written(message_id: str, kind: str, content: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"version": 1, "message_id": message_id, "kind": kind, **content})


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
