"""Settings of the server. Sizes are bytes, times are seconds; every bound has a reason beside it."""

from msgspec import Struct


class ServerSettings(Struct, frozen=True, kw_only=True):
    """Where the server listens, and what it takes at most.

    `host` and `port` are where it listens; port 0 takes a free one. `allowed_hosts` are further names by
    which clients may call it, `allowed_origins` web origins that may, besides its own. `llm` False switches
    the model off: calls work, turns do not. `rate_per_s` and `burst` bound the requests of one key.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    llm: bool = True
    tls_certificate: str | None = None
    tls_key: str | None = None
    access_log: bool = False

    max_body: int = 2_097_152
    """The largest arguments (1 MiB) and what is around them."""
    max_headers: int = 32_768
    max_connections: int = 4_096
    head_timeout_s: float = 10.0
    """From the first byte of a request, or the connection, to the end of its headers."""
    body_timeout_s: float = 30.0
    idle_timeout_s: float = 75.0
    """A kept-alive connection with no request; above the minute that proxies keep theirs."""
    drain_s: float = 10.0
    """What runs and requests get to end after SIGTERM, before they are cancelled."""

    rate_per_s: float = 200.0
    burst: int = 400
    failed_per_s: float = 5.0
    """Requests a second that fail to say who they are, from one address."""

    max_runs: int = 256
    """Agent runs at the same time."""
    max_turns: int = 32
    """Turns that one WebSocket may have waiting or running."""
    max_followers: int = 2_048
    """Event streams and WebSockets that follow a run."""
    send_timeout_s: float = 20.0
    """A client that takes nothing for this long is cut off; what it missed can be asked for again."""
    run_log_bytes: int = 2_097_152
    """What is kept of one run's messages for clients that fall behind or come back."""
    keep_finished_s: float = 300.0
    """How long the messages of a finished run can be asked for again; the record stays."""
    keep_finished: int = 256
    lease_s: float = 30.0
    """How long after a server's death another may take its runs up."""
    recover_every_s: float = 10.0
    """How often runs are looked for that a dead server left."""
