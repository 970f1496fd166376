"""Any GGUF file, served by llama.cpp (the prebuilt server in `xllamacpp`) in a child process of ours."""

import asyncio
import importlib.metadata
import logging
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from gerbang.adapters.extras import install_line
from gerbang.adapters.models.child import Child, ChildGone
from gerbang.adapters.models.foreign import tidy
from gerbang.adapters.models.gguf_header import NotGguf, context_length
from gerbang.adapters.models.openai import OpenAIModel
from gerbang.errors import ConfigError, ModelTimeout, ModelUnavailable
from gerbang.values.model import ModelEvent, ModelRequest

PACKAGE: Final = "xllamacpp"
DEFAULT_CONTEXT: Final = 8_192
"""Tokens; less when the model was trained for less. A longer window costs memory."""
_WORKER: Final = "gerbang.adapters.models.gguf_worker"
_KEY_NAME: Final = "the key of our own server"
_log: Final = logging.getLogger("gerbang.models")


class GgufModel:
    """Implements `gerbang.ports.Model`. The server starts at the first request and is used again.

    `where` is the path of the file; `context`, `idle_timeout_s` and `on_progress` as in
    `gerbang.adapters.models.open_model`. Raises ConfigError when the package or the file is missing.
    """

    writes_prose = True

    def __init__(
        self,
        where: str,
        *,
        context: int | None = None,
        idle_timeout_s: float | None = None,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        try:
            importlib.metadata.version(PACKAGE)
        except importlib.metadata.PackageNotFoundError:
            raise ConfigError(
                f"The server for GGUF files is not installed. Run: {install_line('gguf')}, or serve the "
                "file elsewhere and name that server: openai:MODEL@URL."
            ) from None
        self._path = Path(where).expanduser().absolute()
        trained = _checked(self._path, where)
        self.name = f"gguf:{where}"
        self.context_tokens: int | None = context or min(DEFAULT_CONTEXT, trained or DEFAULT_CONTEXT)
        self._idle_timeout_s = idle_timeout_s
        self._tell = on_progress or _log.info
        self._starting = threading.Lock()
        self._child: Child | None = None
        self._client: OpenAIModel | None = None

    async def answer(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer's events; the first request waits until the file is loaded.

        Raises as `OpenAIModel.answer`; ModelUnavailable as well when the server does not start.
        """
        began = time.monotonic()
        client = await self._ready(request.timeout_s)
        left = max(0.001, request.timeout_s - (time.monotonic() - began))
        async with aclosing(client.answer(replace(request, timeout_s=left))) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """End the server and its process. May be called more than once; a later request starts it anew."""
        child, self._child = self._child, None
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        if child is not None:
            await asyncio.to_thread(child.kill)

    async def _ready(self, timeout_s: float) -> OpenAIModel:
        client, child = self._client, self._child
        if client is not None and child is not None and child.alive:
            return client
        if client is not None:
            await client.aclose()
        self._tell(f"Loading {self._path.name} …")
        began = time.monotonic()
        try:
            async with asyncio.timeout(timeout_s):
                # Shielded: a cancelled request leaves the load going, the next one finds it further on.
                client = await asyncio.shield(asyncio.to_thread(self._start))
        except TimeoutError:
            raise ModelTimeout(
                f"{self._path.name} is still loading after {timeout_s:g} s. Ask again, or raise the time-out."
            ) from None
        self._tell(f"{self._path.name} is ready after {time.monotonic() - began:.1f} s")
        return client

    def _start(self) -> OpenAIModel:
        """Start the server unless it runs; in a thread, one at a time."""
        with self._starting:
            if self._client is not None and self._child is not None and self._child.alive:
                return self._client
            if self._child is not None:
                self._child.kill()  # it has ended by itself; its pipes have not
            key = secrets.token_urlsafe(32)
            child = self._child = Child(["-m", _WORKER], {})
            try:
                child.send({"path": str(self._path), "context": self.context_tokens, "key": key})
                hello: dict[str, Any] = child.receive()
            except ChildGone:
                hello = {"error": "its process ended while it loaded the file; is there enough memory?"}
            if "error" in hello:
                child.kill()
                raise ModelUnavailable(
                    f"The server for {self._path.name} did not start: {tidy(str(hello['error']), key)}"
                )
            self._client = OpenAIModel(
                f"{self._path.stem}@http://127.0.0.1:{hello['port']}/v1",
                secrets=_OwnKey(key),
                key_name=_KEY_NAME,
                idle_timeout_s=self._idle_timeout_s,
            )
            return self._client


class _OwnKey:
    """The random key of our own server, in the shape of `gerbang.ports.Secrets`."""

    def __init__(self, key: str) -> None:
        self._key = key

    def get(self, name: str) -> str | None:
        """Return the key for its one name."""
        return self._key if name == _KEY_NAME else None


def _checked(path: Path, where: str) -> int | None:
    try:
        return context_length(path)
    except NotGguf as error:
        raise ConfigError(f"{where[:200]!r} is no usable GGUF file: {error}. Name another.") from None
    except OSError as error:
        raise ConfigError(
            f"The GGUF file {where[:200]!r} cannot be read: {error.strerror}. Check the path."
        ) from None
