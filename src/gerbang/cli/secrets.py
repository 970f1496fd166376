"""`gerbang secrets`: set, list, remove, bind. A value is never an argument and is never printed."""

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from gerbang.adapters.secrets import PASSPHRASE_VARIABLE, open_secrets
from gerbang.cli import options, secrets_binding
from gerbang.cli.exits import Exit
from gerbang.cli.own_environment import leave_no_core, take_out
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.standard_input import read_all
from gerbang.errors import ConfigError, UsageError
from gerbang.ports import SecretStore
from gerbang.values.secret import MAX_SECRET_CHARS, check_secret

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the secret, such as WEATHER_KEY.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(help="Set, list, remove and bind the secrets that tools use.", no_args_is_help=True)
    group.command("set")(set_)
    group.command("list")(list_)
    group.command("rm")(remove)
    secrets_binding.add(group)
    app.add_typer(group, name="secrets")


def set_(
    name: Name,
    secrets: options.Secrets = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Set a secret. The value is typed at a hidden prompt, or read from standard input."""
    store = opened(options.settings(config, secrets=secrets).secrets)
    check_secret(name)
    if not store.writable:
        store.set(name, "")  # says why not, before anybody types a secret
    store.set(name, _value(name))
    _say(json, {"set": name, "store": store.address}, f"Set {name} in {one_line(store.address)}.")
    return Exit.DONE


def list_(
    secrets: options.Secrets = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """List the names of the secrets; never their values."""
    names = opened(options.settings(config, secrets=secrets).secrets).names()
    screen = Screen.standard()
    if json:
        screen.document(names)
    for name in [] if json else names:
        screen.line(one_line(name))
    return Exit.DONE


def remove(
    name: Name,
    secrets: options.Secrets = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Remove a secret."""
    store = opened(options.settings(config, secrets=secrets).secrets)
    check_secret(name)
    if not store.remove(name):
        raise UsageError(
            f"There is no secret {name} in {store.address}. "
            f"See: gerbang secrets list --secrets {one_line(store.address)}"
        )
    _say(json, {"removed": name, "store": store.address}, f"Removed {name} from {one_line(store.address)}.")
    return Exit.DONE


def opened(address: str) -> SecretStore:
    """Return the store at an address; a passphrase that nothing else gives is asked for at the terminal.

    The variable with the passphrase is taken out of the environment: no child process needs it. A crash
    leaves no memory of this process in a file.
    """
    store = open_secrets(address, ask=_ask_passphrase)
    take_out(PASSPHRASE_VARIABLE)
    leave_no_core()
    return store


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"Value of {name} (not shown): ")
    text = read_all(4 * MAX_SECRET_CHARS + 2, "The value")
    return text.removesuffix("\n").removesuffix("\r")


def _ask_passphrase(path: Path, new: bool) -> str | None:
    if not sys.stdin.isatty():
        return None
    said = getpass.getpass(f"{'New passphrase' if new else 'Passphrase'} for {one_line(str(path))}: ")
    if new and getpass.getpass("The same again: ") != said:
        raise ConfigError("The two passphrases differ. Nothing was written; run it again.")
    return said


def _say(as_json: bool, facts: dict[str, str], text: str) -> None:
    screen = Screen.standard()
    if as_json:
        screen.document(facts)
    else:
        screen.line(text)
