"""`gerbang serve`: Gerbang as a service on this machine, or with keys beyond it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from gerbang import Agent, Gateway
from gerbang.adapters.extras import install_line
from gerbang.cli import options, street
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.secrets import opened
from gerbang.config import Settings
from gerbang.errors import ConfigError
from gerbang.ports import Model, Store

DEFAULT_KEYS: Final = ".gerbang/keys.json"
_OFF: Final = frozenset({"none", "off"})
Keys = Annotated[
    str,
    typer.Option(
        "--keys", metavar="FILE", envvar="GERBANG_KEYS", help="The file of API keys; see: gerbang keys"
    ),
]
AllowedHosts = Annotated[
    list[str] | None, typer.Option("--allowed-host", help="A further name of this server.")
]
AllowedOrigins = Annotated[
    list[str] | None, typer.Option("--allowed-origin", help="A web origin whose pages may call.")
]
Speech = Annotated[
    str | None,
    typer.Option(
        "--speech", metavar="VOICE", help="A voice for clients that ask for sound: espeak: or espeak:VOICE"
    ),
]
Rate = Annotated[float, typer.Option(min=0.001, max=1_000_000, help="Requests a second of one key.")]
Burst = Annotated[int, typer.Option(min=1, max=1_000_000, help="Requests of one key at once.")]
Drain = Annotated[float, typer.Option(min=0, max=3_600, help="Seconds that runs get to end after SIGTERM.")]

LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"], typer.Option("--log-level", help="What is logged.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("serve")(serve)


def serve(
    host: Annotated[str, typer.Option(help="Address to bind. Beyond loopback only with keys.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8787,
    tools: options.HttpTools = None,
    python: options.Tools = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    model: options.Model = None,
    profile: options.Profile = None,
    lang: options.Lang = None,
    policy: options.Policy = None,
    store: options.Store = None,
    secrets: options.Secrets = None,
    keys: Keys = DEFAULT_KEYS,
    allowed_host: AllowedHosts = None,
    allowed_origin: AllowedOrigins = None,
    tls_certificate: Annotated[str | None, typer.Option("--tls-certificate", metavar="FILE")] = None,
    tls_key: Annotated[str | None, typer.Option("--tls-key", metavar="FILE")] = None,
    rate: Rate = 200.0,
    burst: Burst = 400,
    speech: Speech = None,
    drain: Drain = 10.0,
    log_level: LogLevel = "info",
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Serve HTTP, WebSocket and event streams before one gateway. Logs are JSON lines on standard error."""
    chosen = options.settings(
        config,
        workspace=workspace,
        knowledge=knowledge,
        model=None if model in _OFF else model,
        profile=profile,
        lang=lang,
        policy=policy,
        store=store,
        secrets=secrets,
        tools_file=tools,
    )
    logs, serving, settings_module = _server_parts()
    bounds = settings_module.ServerSettings(
        host=host,
        port=port,
        allowed_hosts=tuple(allowed_host or ()),
        allowed_origins=tuple(allowed_origin or ()),
        llm=model not in _OFF,
        tls_certificate=tls_certificate,
        tls_key=tls_key,
        access_log=access_log,
        rate_per_s=rate,
        burst=burst,
        drain_s=drain,
    )
    service = _service(chosen, bounds, Path(keys), python or [], speech)
    logs.configure(log_level)
    serving.serve(service, lambda url: _say_where(url, as_json=json))
    return Exit.DONE


def _say_where(url: str, *, as_json: bool) -> None:
    screen = Screen.standard()
    if as_json:
        screen.document({"url": url, "documents": f"{url}/docs", "console": f"{url}/console"})
    else:
        screen.line(f"Gerbang listens on {url} (documents: {url}/docs, console: {url}/console)")


def _server_parts() -> tuple[Any, Any, Any]:
    """Return the server's modules; they need packages that the core install does not bring."""
    try:
        from gerbang.server import logs, serving, settings
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("gerbang"):
            raise
        raise ConfigError(
            f"The server needs the package {error.name!r}. Install it with: {install_line('server')}"
        ) from None
    return logs, serving, settings


def _service(settings: Settings, bounds: Any, keys: Path, extra: Sequence[str], speech: str | None) -> Any:
    from gerbang.adapters.speech import open_speaker
    from gerbang.adapters.stores import open_store
    from gerbang.server.keys import KeyFile
    from gerbang.server.service import Service

    kept = opened(settings.secrets)
    tools = [*street.tools(settings, extra, served=True), *street.contract_tools(settings)]
    definitions = street.file_tools(settings)
    if any(tool.contract.secrets for tool in [*tools, *definitions] if hasattr(tool, "contract")):
        kept.unlock()  # a person is asked for the passphrase now, not while a call runs
    chosen = street.policy_of(settings, kept)
    policy: dict[str, Any] = {} if chosen is None else {"policy": chosen}

    def gateway(offered: Sequence[Any], store: Store) -> Gateway:
        return Gateway(
            offered, store=store, secrets=kept, lease_s=bounds.lease_s, **policy, **settings.approvals()
        )

    model: Model | None = None
    if bounds.llm:
        from gerbang.adapters.models import open_model

        screen = Screen.standard()
        model = open_model(
            settings.model,
            secrets=kept,
            api_key_secret=settings.api_key_secret,
            context=settings.context,
            on_progress=lambda text: screen.status(one_line(text)),
        )

    def agent(gate: Gateway) -> Agent:
        assert model is not None  # noqa: S101 - no model, no agent
        return Agent(
            model,
            gate,
            profile=settings.profile,
            lang=settings.lang,
            context_tokens=settings.context,
            **settings.limits(),
        )

    return Service(
        settings=bounds,
        store=open_store(street.store_url(settings, create=True), seal=settings.seal),
        authenticator=KeyFile(keys),
        gateway=gateway,
        agent=None if model is None else agent,
        model=model,
        tools=tools,
        definitions=definitions,
        egress=settings.egress,
        tool_timeout_s=settings.tool_timeout_secs,
        policy=chosen,
        speaker=None if speech is None else open_speaker(speech, settings.lang),
    )
