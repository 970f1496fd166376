"""Running the application: binding, refusing what would be open to everybody, draining at the end."""

import gc
import logging
import signal
import socket
import ssl
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final

import uvicorn

from gerbang.errors import ConfigError
from gerbang.server.app import Application
from gerbang.server.groups import default_groups
from gerbang.server.guard import is_loopback
from gerbang.server.operation import RouteGroup
from gerbang.server.protocol import bounded
from gerbang.server.service import Service
from gerbang.server.settings import ServerSettings

_LOG: Final = logging.getLogger("gerbang.server")
_GC: Final = (20_000, 20, 50)
"""Records that are kept, in memory or in logs of runs, are no garbage: look at them less often."""
_WS_PING_S: Final = 20.0


def check_binding(settings: ServerSettings, open_to_all: bool) -> None:
    """Raise ConfigError when the address would let anybody in: without keys only loopback is bound."""
    if open_to_all and not is_loopback(settings.host):
        raise ConfigError(
            f"Without keys the server binds to loopback only, not to {settings.host}. "
            "Make a key first (gerbang keys create --user NAME --tenant NAME --right calls), "
            "or use --host 127.0.0.1."
        )
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        raise ConfigError("TLS needs both --tls-certificate and --tls-key.")
    if settings.tls_certificate is not None:
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(settings.tls_certificate, settings.tls_key)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"The certificate or key for TLS cannot be used: {error.strerror or error}. Check them."
            ) from None


def build(service: Service, groups: Sequence[RouteGroup] | None = None) -> Application:
    """Return the application of a service. `groups` are its routes; omitted, all that this version has."""
    return Application(service, default_groups() if groups is None else groups)


def serve(
    service: Service, started: Callable[[str], None], groups: Sequence[RouteGroup] | None = None
) -> None:
    """Serve until SIGTERM or Ctrl-C; every call has its record when this returns.

    `started` is called with the address once connections are taken. Raises ConfigError for an address that
    cannot be bound, or that would be open to everybody, what kept the service from opening (StoreError and
    so on), and KeyboardInterrupt after Ctrl-C.
    """
    settings = service.settings
    check_binding(settings, service.authenticator.open_to_all)
    listener = _listen(settings)
    application = build(service, groups)
    http, socket_class = bounded(settings)
    config = uvicorn.Config(
        application,
        http=http,
        ws=socket_class,
        loop="auto",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(settings.idle_timeout_s),
        timeout_graceful_shutdown=int(settings.drain_s) + 5,
        ws_max_size=settings.max_body,
        ws_per_message_deflate=False,
        ws_ping_interval=_WS_PING_S,
        ws_ping_timeout=_WS_PING_S,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )
    server = _Server(config, service, lambda: started(_address(settings, listener)))
    gc.set_threshold(*_GC)
    try:
        server.run([listener])
    except SystemExit:  # uvicorn ends the process itself when the start has failed, with a code of its own
        if server.started:
            raise
    finally:
        listener.close()
    if not server.started:
        raise application.failed or ConfigError("The server could not start; the log says why.")


class _Server(uvicorn.Server):
    """Drains runs and event streams first: uvicorn would wait for them, and they never end by themselves."""

    def __init__(self, config: uvicorn.Config, service: Service, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # what is there now stays: no collection looks at it again
            self._tell()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop. uvicorn would end the process by the same signal afterwards: SIGTERM is an orderly end."""
        super().handle_exit(sig, frame)
        if sig == signal.SIGTERM:
            self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then let uvicorn close what is left."""
        _LOG.info("draining", extra={"runs": self._service.runs.active})
        await self._service.drain()
        await super().shutdown(sockets)
        _LOG.info("stopped")


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host.strip("[]"), settings.port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"Port {settings.port} of {settings.host} cannot be bound: {error.strerror}. "
            "Another server may hold it: choose --port."
        ) from None
    listener.setblocking(False)
    return listener


def _address(settings: ServerSettings, listener: socket.socket) -> str:
    name: Any = listener.getsockname()
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"{'https' if settings.tls_key else 'http'}://{host}:{name[1]}"
