"""Puts the street together for a command: tools, policy, store, approver, gateway, agent."""

import contextlib
import importlib
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, Final

import gerbang as g
from gerbang.adapters.models import open_model
from gerbang.cli.approver import TerminalApprover
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.secrets import opened
from gerbang.cli.texts import say
from gerbang.config import Settings
from gerbang.errors import ConfigError
from gerbang.packs import basics
from gerbang.ports import Secrets

_SQLITE: Final = "sqlite:"


def store_url(settings: Settings, *, create: bool) -> str:
    """Return the store's address, its folder made when `create` is set and the address is a file's."""
    url = settings.store
    if url.startswith(_SQLITE):
        path = Path(url.removeprefix(_SQLITE)).expanduser()
        if create:
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise ConfigError(
                    say("no_records_folder", folder=path.parent, reason=error.strerror)
                ) from None
        return f"{_SQLITE}{path}"
    return url


def store_exists(settings: Settings) -> bool:
    """Return False when the store is a file that is not there yet."""
    url = settings.store
    return not url.startswith(_SQLITE) or Path(url.removeprefix(_SQLITE)).expanduser().exists()


def tools(settings: Settings, extra: Iterable[str], *, look: bool = False, served: bool = False) -> list[Any]:
    """Return the basics pack for this workspace and the tools named as `MODULE:NAME`.

    The profile `voice` with a file of HTTP tools has those of the file instead of the pack, and no pack at
    all in a server (`served`): there a request may bring the definitions. With `look` nothing will run, so
    no workspace is made.
    """
    bare = settings.profile == "voice" and (served or settings.active_tools_file() is not None)
    pack = [] if bare else _basics(settings, look=look)
    return [*pack, *(tool for name in extra for tool in _from_python(name))]


def contract_tools(settings: Settings) -> list[Any]:
    """Return the tools of the contract files that the settings name."""
    if settings.contracts is None:
        return []
    see_current_folder()  # for modules that a file names
    return g.load_contracts(Path(settings.contracts).expanduser(), pin=bool(settings.pin_contracts))


def file_tools(settings: Settings) -> list[Any]:
    """Return the tools of the file of HTTP tools that the settings name; none when it is off."""
    path = settings.active_tools_file()
    if path is None:
        return []
    return list(g.load_tools(path, egress=settings.egress, timeout_s=settings.tool_timeout_secs))


def policy_of(settings: Settings, secrets: Secrets | None = None) -> Any:
    """Return the policy of the settings, of any kind, to be closed with `aclose`. None: the library's own.

    Without one, the profile `voice` has the shipped policy of the same name: nobody is there to be asked,
    and the operator wrote down the tools of the file.
    """
    if settings.policy is not None:
        return g.Policy.open(settings.policy, secrets=secrets)
    return g.Policy.shipped("voice") if settings.profile == "voice" else None


def asks_here(settings: Settings, screen: Screen, *, pending: bool) -> bool:
    """Tell whether the approver of `gateway` asks the person at this terminal, and shows the call to them."""
    return screen.interactive and not pending and "approver" not in settings.approvals()


@contextlib.asynccontextmanager
async def gateway(
    settings: Settings,
    screen: Screen,
    extra: Iterable[str] = (),
    *,
    store: str | None = None,
    look: bool = False,
    pending: bool = False,
) -> "AsyncIterator[g.Gateway]":
    """Open a gateway by the settings. The person at the terminal approves, where there is one and the
    settings name no webhook; with `pending` nobody is asked, and what needs approval waits in the store.

    `look` is for commands that only look at tools: they make no workspace.
    """
    chosen: dict[str, Any] = {}
    chosen["secrets"] = kept = opened(settings.secrets)
    chosen["seal"] = None if store else settings.seal
    chosen["secret_bindings"] = settings.secret_bindings
    offered = [*tools(settings, extra, look=look), *contract_tools(settings), *file_tools(settings)]
    if store is None and any(tool.contract.secrets for tool in offered if hasattr(tool, "contract")):
        kept.unlock()  # a person is asked for the passphrase now, not while a call runs
    async with contextlib.AsyncExitStack() as stack:
        policy = policy_of(settings, kept)
        if policy is not None:
            chosen["policy"] = await stack.enter_async_context(policy)
        yield await stack.enter_async_context(
            g.Gateway(
                tools=offered,
                store=store or store_url(settings, create=True),
                **{"approver": TerminalApprover(screen, later=pending), **settings.approvals(), **chosen},
            )
        )


@contextlib.asynccontextmanager
async def agent(settings: Settings, screen: Screen, gate: "g.Gateway") -> "AsyncIterator[g.Agent]":
    """Open the model of the settings, and an agent that uses it behind `gate`."""
    model = open_model(
        settings.model,
        secrets=gate.secrets,
        api_key_secret=settings.api_key_secret,
        context=settings.context,
        on_progress=lambda text: screen.status(one_line(text)),
    )
    try:
        yield g.Agent(
            model,
            gate,
            profile=settings.profile,
            lang=settings.lang,
            context_tokens=settings.context,
            **settings.limits(),
        )
    finally:
        await model.aclose()


def _basics(settings: Settings, *, look: bool) -> list[Any]:
    knowledge = None if settings.knowledge is None else Path(settings.knowledge).expanduser()
    if settings.profile == "minimal":
        return list(basics.minimal_tools(knowledge, lang=settings.lang))
    if settings.workspace is None and look:
        workspace = Path()  # nothing is read: any folder that is there will do
    elif settings.workspace is None:
        workspace = basics.default_workspace(settings.lang)
    else:
        workspace = Path(settings.workspace).expanduser()
        if not workspace.is_dir():
            raise ConfigError(say("no_workspace", folder=workspace))
    return list(basics.tools(workspace, lang=settings.lang, knowledge=knowledge))


def see_current_folder() -> None:
    """Let modules of the current folder be imported: a console script does not look there."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))


def _from_python(name: str) -> list[Any]:
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise ConfigError(say("python_form", name=name))
    see_current_folder()
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(say("no_module", module=error.name, name=name)) from None
    except Exception as error:  # whatever the user's own module does when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise ConfigError(say("module_broken", module=module_name, reason=reason)) from error
    found = getattr(module, attribute, None)
    if found is None:
        raise ConfigError(say("no_attribute", module=module_name, attribute=attribute, name=name))
    return list(found) if isinstance(found, list | tuple) else [found]
