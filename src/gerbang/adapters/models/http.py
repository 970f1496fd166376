"""The HTTP client under the model adapters: one POST, its retries, its time-outs, its errors.

No redirect is followed and no proxy or cookie of the environment is used, so the key goes to the address's
own origin and nowhere else. A request is sent again only while nothing of an answer has arrived.
"""

import asyncio
import random
import ssl
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any, Final

import aiohttp

from gerbang.adapters.models.address import Address
from gerbang.adapters.models.foreign import answered
from gerbang.adapters.models.packed import Unreadable, unpacker
from gerbang.errors import ConfigError, ModelFault, ModelProtocol, ModelTimeout, ModelUnavailable
from gerbang.limits import MODEL_RETRIES
from gerbang.ports import Secrets

CONNECT_TIMEOUT_S: Final = 10.0
"""Default time for one connection, TLS included."""
IDLE_TIMEOUT_S: Final = 60.0
"""Default silence allowed inside an answer, after its first byte."""
MAX_ERROR_BYTES: Final = 65_536
"""How much of an error's body is read."""
_BACKOFF_S: Final = 0.5
_BACKOFF_CAP_S: Final = 8.0
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})


class Wire:
    """Posts JSON to one model server. One instance serves many answers at once, and many event loops in turn.

    Arguments as in `gerbang.adapters.models.open_model`; `default_key` is the secret that is used when no
    name was given, but only over TLS or within this machine.
    """

    def __init__(
        self,
        address: Address,
        *,
        secrets: Secrets | None,
        key_name: str | None,
        default_key: str | None,
        connect_timeout_s: float | None,
        idle_timeout_s: float | None,
        retries: int | None,
    ) -> None:
        self.address = address
        self.key_name = key_name or default_key
        self.key = _key(address, secrets, key_name, default_key)
        self.idle_timeout_s = IDLE_TIMEOUT_S if idle_timeout_s is None else idle_timeout_s
        self._connect_timeout_s = CONNECT_TIMEOUT_S if connect_timeout_s is None else connect_timeout_s
        self._attempts = 1 + (MODEL_RETRIES if retries is None else max(0, retries))
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def post(self, path: str, body: bytes, deadline: float) -> AsyncIterator["Answer"]:
        """Send the request; the answer's head has arrived with a 200 when this gives it.

        `deadline` is a time of the running loop's clock, in seconds. Raises ModelUnavailable, ModelTimeout,
        ModelProtocol and ModelFault; leaving the block ends the connection unless it was read to its end.
        """
        response = await self._open(path, body, deadline)
        try:
            yield Answer(response, self, deadline)
        finally:
            response.close() if not response.content.at_eof() else response.release()

    async def aclose(self) -> None:
        """Close the connections. May be called more than once."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def timed_out(self, what: str) -> ModelTimeout:
        """Return the error for an answer that did not come in time."""
        return ModelTimeout(
            f"The model server at {self.address.origin} {what}. Check the server, or raise the time-out."
        )

    async def _open(self, path: str, body: bytes, deadline: float) -> aiohttp.ClientResponse:
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await self._send(path, body, deadline)
            except ModelUnavailable as error:
                if attempt >= self._attempts:
                    raise
                await self._pause(attempt, None, deadline, error)
                continue
            if response.status == 200:
                return response
            wait, fault = await self._refusal(response, deadline)
            if attempt >= self._attempts or not fault.retryable:
                raise fault
            await self._pause(attempt, wait, deadline, fault)

    async def _send(self, path: str, body: bytes, deadline: float) -> aiohttp.ClientResponse:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers["Accept-Encoding"] = "identity"
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        origin = self.address.origin
        try:
            async with asyncio.timeout_at(deadline):
                return await self._client().post(
                    self.address.url + path, data=body, headers=headers, allow_redirects=False
                )
        except (aiohttp.ConnectionTimeoutError, aiohttp.ServerTimeoutError):
            raise ModelUnavailable(
                f"No connection to the model server at {origin} within the time allowed."
            ) from None
        except TimeoutError:
            raise self.timed_out("gave no answer within the time allowed") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError, ssl.SSLError):
            raise ModelFault(
                f"The TLS certificate or handshake of {origin} is not valid. Check the URL."
            ) from None
        except aiohttp.ClientConnectorError:
            raise ModelUnavailable(
                f"Nothing answers at {origin}. Start the model server there, or correct the address."
            ) from None
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError):
            raise ModelProtocol(
                f"{origin} does not answer in HTTP. Is this the address of the API?"
            ) from None
        except (aiohttp.ClientError, ConnectionError):
            raise ModelUnavailable(
                f"The model server at {origin} closed the connection without an answer."
            ) from None

    async def _refusal(
        self, response: aiohttp.ClientResponse, deadline: float
    ) -> tuple[float | None, ModelFault]:
        """Read why the server said no. Returns the wait that it asks for and the error to raise."""
        status, origin = response.status, self.address.origin
        try:
            if 300 <= status < 400:
                return None, ModelProtocol(
                    f"{origin} redirects elsewhere ({status}). None is followed; use the final address."
                )
            try:
                async with asyncio.timeout_at(min(deadline, asyncio.get_running_loop().time() + 5)):
                    body = await read_up_to(response.content, MAX_ERROR_BYTES)
            except (TimeoutError, aiohttp.ClientError):
                body = b""
        finally:
            response.close()
        text = f"The model server at {origin} {answered(status, body, self.key)}"
        if status in _RETRIED:
            return _retry_after(response.headers.get("Retry-After")), ModelUnavailable(text)
        if status in (401, 403):
            if self.key_name is None:
                advice = "No key is named; set `api_key_secret` to the name of the secret that holds it."
            else:
                advice = f"Check the key: it is the secret {self.key_name}."
            return None, ModelFault(f"{text} {advice}")
        if status == 404:
            return None, ModelFault(f"{text} Check the model's name and the path of the URL.")
        return None, ModelFault(text)

    async def _pause(self, attempt: int, wait: float | None, deadline: float, fault: ModelFault) -> None:
        """Wait before the next attempt: what the server asked for, else full jitter. No time left: raise."""
        if wait is None:
            # Jitter spreads load; it guards nothing.
            wait = random.uniform(0, min(_BACKOFF_CAP_S, _BACKOFF_S * 2.0**attempt))  # noqa: S311
        if asyncio.get_running_loop().time() + wait >= deadline:
            raise fault
        await asyncio.sleep(wait)

    def _client(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop or self._session.closed:
            self._forget()
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # see `packed`: a small answer cannot become a large one
                trust_env=False,
            )
            self._loop = loop
            weakref.finalize(self, _close_later, self._session, loop)
        return self._session

    def _forget(self) -> None:
        """Drop the session of an event loop that is over; its sockets went with the loop."""
        session, self._session = self._session, None
        if session is not None and not session.closed:
            session.detach()


def _close_later(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
    """Close the connections of a model that nobody holds any more, in its own event loop."""
    if not session.closed and not loop.is_closed():
        loop.call_soon_threadsafe(_close, session)


def _close(session: aiohttp.ClientSession) -> None:
    """Close without waiting until the sockets are gone: the loop may be in its last turn."""
    closing = session.close()
    try:
        closing.send(None)
    except StopIteration:
        return
    closing.close()


class Answer:
    """The body of one answer as it arrives. `started` tells whether any byte has come."""

    def __init__(self, response: aiohttp.ClientResponse, wire: Wire, deadline: float) -> None:
        self.content_type = response.content_type
        self.started = False
        self.broken = False
        self._content = response.content
        self._wire = wire
        self._deadline = deadline
        self._encoding = ", ".join(response.headers.getall("Content-Encoding", ()))
        try:
            self._unpacker = unpacker(self._encoding)
        except Unreadable:
            raise self._packed() from None

    async def chunk(self) -> bytes:
        """Return the next bytes; empty at the end. A connection that breaks is an end with `broken` set.

        Raises ModelTimeout when the whole answer, or the silence inside it, takes too long, and ModelProtocol
        for bytes that are not compressed as the server says.
        """
        packed = self._unpacker
        if packed is None:
            return await self._bytes()
        try:
            while not (out := packed.piece()):
                data = await self._bytes()
                if not data:
                    return b""
                packed.put(data)
        except Unreadable:
            raise self._packed() from None
        return out

    def _packed(self) -> ModelProtocol:
        return ModelProtocol(
            f"The model server at {self._wire.address.origin} sent bytes that are not the "
            f"{(self._encoding or '')[:40]!r} that it says. Have it send plain bytes."
        )

    async def _bytes(self) -> bytes:
        now = asyncio.get_running_loop().time()
        idle = now + self._wire.idle_timeout_s if self.started else self._deadline
        try:
            async with asyncio.timeout_at(min(self._deadline, idle)):
                data = await self._content.readany()
        except TimeoutError:
            if idle < self._deadline:
                raise self._wire.timed_out(f"fell silent for {self._wire.idle_timeout_s:g} s") from None
            raise self._wire.timed_out("did not finish within the time allowed") from None
        except (aiohttp.ClientError, ConnectionError):
            self.broken = True
            return b""
        self.started = self.started or bool(data)
        return data


async def read_up_to(content: aiohttp.StreamReader, limit: int) -> bytes:
    """Read at most `limit` bytes of a body."""
    parts: list[bytes] = []
    left = limit
    while left > 0:
        data = await content.read(left)
        if not data:
            break
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


def deadline_in(seconds: float) -> float:
    """Return the running loop's time `seconds` from now."""
    return asyncio.get_running_loop().time() + seconds


def _key(address: Address, secrets: Secrets | None, named: str | None, default: str | None) -> str | None:
    name = named or (default if address.private else None)
    if name is None:
        return None
    key = secrets.get(name) if secrets is not None else None
    if key is None:
        if named:
            raise ConfigError(f"There is no secret {named!r} for {address.origin}. Set it, or name another.")
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"The secret {name!r} is no usable key: it has spaces or unprintable characters.")
    return key or None


def _retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110, 10.2.3: a number or an HTTP date)."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) < 10 else None
    try:
        moment: Any = parsedate_to_datetime(value)
        return max(0.0, float(moment.timestamp()) - time.time())
    except (ValueError, TypeError, OverflowError, IndexError):  # a server may write anything there
        return None
