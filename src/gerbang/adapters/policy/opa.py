"""Policy by an external server that speaks OPA's data API: `POST URL {"input": ...}` gives `{"result": ...}`.

An answer without `result` means that the rule is undefined (OPA's REST API, "Get a Document (with Input)").
`?provenance=true` makes the server say which bundles it decides by; that goes into the policy's version.
"""

import asyncio
import contextlib
import ipaddress
import math
import threading
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from gerbang.adapters.policy.verdict import Told, Verdict, decided, denied
from gerbang.errors import ConfigError
from gerbang.policy.input import PolicyInput
from gerbang.ports import Secrets
from gerbang.values import Decision
from gerbang.values.canonical import digest

DECISION_S: Final = 1.0
"""Time for one decision, connecting included; then it is a denial."""
DEFAULT_TOKEN: Final = "opa-token"  # noqa: S105 (the name of a secret, not a secret)
"""The secret whose value is the bearer token when no other is named."""
MAX_INPUT_BYTES: Final = 1_048_576
MAX_ANSWER_BYTES: Final = 262_144
CONNECTIONS: Final = 32
"""Connections of one event loop. More decisions than that wait for one, within their time."""
_BLOCKING_AT_ONCE: Final = 8
_EXAMPLE: Final = "opa:http://127.0.0.1:8181/v1/data/gerbang/decision"


class _Answer(msgspec.Struct):
    result: Verdict | msgspec.UnsetType = msgspec.UNSET
    provenance: Any = None


_DECODER: Final = msgspec.json.Decoder(_Answer)


class OpaPolicy:
    """Asks a server. Deciding never raises: whatever goes wrong is a denial.

    `url` is the whole path of the rule, `token` the bearer token. One instance serves many event loops;
    close it with `aclose` in the one that decides.
    """

    bounded = True
    """Each decision has a time-out of its own."""

    def __init__(
        self, url: str, *, token: str | None = None, timeout_s: float = DECISION_S, facts: Iterable[str] = ()
    ) -> None:
        self._url = url
        self._token = token
        self._timeout_s = timeout_s
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._facts = tuple(facts)
        self._slots = threading.Semaphore(_BLOCKING_AT_ONCE)
        self._version = _version(url, {})
        self._closed = False

    @classmethod
    def open(
        cls,
        url: str,
        *,
        secrets: Secrets | None = None,
        token_name: str | None = None,
        timeout_s: float = DECISION_S,
        facts: Iterable[str] = (),
    ) -> "OpaPolicy":
        """Return the policy behind `url`. Nothing is sent yet.

        `token_name` is the secret that holds the bearer token; without a name DEFAULT_TOKEN is used, if it
        is set. A token goes to this origin only, and only over TLS or within this machine. `timeout_s`
        bounds one decision, in seconds. `facts` are the facts that its rules read: nobody here can see
        them. Raises ConfigError.
        """
        if not math.isfinite(timeout_s) or timeout_s <= 0:
            raise ConfigError(f"The time-out of a policy is a number of seconds above 0, not {timeout_s}.")
        private = _check_url(url)
        name = token_name or (DEFAULT_TOKEN if private else None)
        token = secrets.get(name) if secrets is not None and name is not None else None
        if token is None and token_name is not None:
            raise ConfigError(f"There is no secret {token_name!r} for the policy server. Set it first.")
        if token is not None:
            if not token.isascii() or not token.isprintable() or " " in token or not token:
                raise ConfigError(
                    f"The secret {name!r} is no usable token: spaces or unprintable characters."
                )
            if not private:
                raise ConfigError("A token goes to a policy server only over https, or within this machine.")
        return cls(url, token=token, timeout_s=timeout_s, facts=facts)

    @property
    def version(self) -> str:
        """Digest of the URL, and of the bundles that the server said it decides by, once it has said so."""
        return self._version

    def needs(self, tool: str) -> tuple[str, ...]:
        """Return the names of the facts that have to be resolved before a call is decided."""
        return self._facts

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision for one call. Blocks, at most a little longer than a decision may take."""
        return self.tell(document).decision

    async def decide_async(self, document: PolicyInput) -> Decision:
        """Return the decision for one call."""
        return (await self._ask(document)).decision

    def tell(self, document: PolicyInput) -> Told:
        """Return the decision, and what went wrong in words for those who look after the policy. Blocks."""
        told: list[Told] = []
        if not self._slots.acquire(timeout=self._timeout_s):
            return self._denied("POLICY_TIMEOUT", "too many decisions wait for the policy server")
        thread = threading.Thread(target=self._ask_alone, args=(document, told), daemon=True)
        thread.start()
        thread.join(self._timeout_s + 1)
        return told[0] if told else self._late()

    async def aclose(self) -> None:
        """Close the connections; what is asked later is denied. May be called more than once."""
        self._closed = True
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()
        self._forget()

    async def __aenter__(self) -> "OpaPolicy":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _ask_alone(self, document: PolicyInput, told: list[Told]) -> None:
        async def ask() -> Told:
            async with self._session() as session:
                return await self._ask(document, session)

        try:
            told.append(asyncio.run(ask()))
        finally:
            self._slots.release()

    async def _ask(self, document: PolicyInput, session: aiohttp.ClientSession | None = None) -> Told:
        if self._closed:
            return self._denied("POLICY_ERROR", "the policy is closed", "POLICY_CLOSED")
        try:
            body = msgspec.json.encode({"input": document.document()})
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            return self._denied("POLICY_ERROR", f"the call is no JSON: {error}", "POLICY_INPUT")
        if len(body) > MAX_INPUT_BYTES:
            return self._denied("POLICY_ERROR", f"the document has {len(body)} bytes", "POLICY_INPUT")
        try:
            async with asyncio.timeout(self._timeout_s):
                status, answer = await self._post(session or self._shared(), body)
        except TimeoutError:
            return self._late()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            text = f"the policy server does not answer: {type(error).__name__}"
            return self._denied("POLICY_ERROR", text, "POLICY_UNAVAILABLE")
        return self._read(status, answer, document)

    async def _post(self, session: aiohttp.ClientSession, body: bytes) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers["Accept-Encoding"] = "identity"
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        async with session.post(
            self._url, params={"provenance": "true"}, data=body, headers=headers, allow_redirects=False
        ) as response:
            answer = b""
            async for chunk in response.content.iter_chunked(65_536):
                answer += chunk
                if len(answer) > MAX_ANSWER_BYTES:
                    response.close()
                    break
            return response.status, answer

    def _read(self, status: int, answer: bytes, document: PolicyInput) -> Told:
        if status != 200:
            return self._denied("POLICY_ERROR", f"the policy server answered {status}", "POLICY_UNAVAILABLE")
        if len(answer) > MAX_ANSWER_BYTES:
            text = f"the answer is longer than {MAX_ANSWER_BYTES} bytes"
            return self._denied("POLICY_ERROR", text, "POLICY_RESULT")
        try:
            said = _DECODER.decode(answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return self._denied("POLICY_ERROR", f"the answer has the wrong shape: {error}", "POLICY_RESULT")
        if isinstance(said.provenance, dict):
            self._version = _version(self._url, _revisions(said.provenance))
        if isinstance(said.result, msgspec.UnsetType):
            return self._denied("POLICY_UNDEFINED", "the policy server has no value for this rule")
        return decided(said.result, document, self._version)

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # a small answer cannot become a large one
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None),
        )

    def _shared(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            self._forget()
            session = self._sessions[loop] = self._session()
        return session

    def _forget(self) -> None:
        """Drop the sessions of event loops that are over; their sockets went with the loop."""
        for loop, session in list(self._sessions.items()):
            if loop.is_closed():
                session.detach()
                del self._sessions[loop]

    def _late(self) -> Told:
        return self._denied(
            "POLICY_TIMEOUT", f"the policy server gave no decision within {self._timeout_s:g} s"
        )

    def _denied(self, code: str, text: str, cause: str | None = None) -> Told:
        return denied(code, self._version, text, cause)


def _version(url: str, bundles: dict[str, str]) -> str:
    return digest({"opa": url, "bundles": bundles})


def _revisions(provenance: dict[str, Any]) -> dict[str, str]:
    """Return the revision of each bundle, as `provenance` of the data API has them."""
    bundles = provenance.get("bundles")
    if not isinstance(bundles, dict):
        return {}
    return {
        str(name)[:200]: str(said.get("revision", ""))[:200]
        for name, said in sorted(bundles.items())[:100]
        if isinstance(said, dict)
    }


def _check_url(url: str) -> bool:
    """Return whether a secret may go there: over TLS, or within this machine. Raises ConfigError."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(f"The policy server has no valid URL. Write it like {_EXAMPLE}.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"The policy server needs an http or https URL. Write it like {_EXAMPLE}.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ConfigError(
            "The URL of a policy server takes no user, password, `?` or `#`. Name a secret for its token."
        )
    if not parts.path.startswith("/v1/data/"):
        raise ConfigError(f"The URL of a policy server ends in the path of a rule, as in {_EXAMPLE}.")
    if parts.scheme == "https" or host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
