"""The command line as a whole: which commands there are, and how the process ends."""

import importlib
import sys
from collections.abc import Mapping
from typing import Annotated, Final

import typer

from gerbang import __version__
from gerbang.cli.examples import show_examples
from gerbang.cli.exits import Exit, report


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "chat": ("chat", "Ask once, or talk."),
    "call": ("call", "Call one tool through the gate and print what came back."),
    "demo": ("demo", "Answer three requests on a sample workspace, step by step."),
    "tools": ("tools", "List and show tools."),
    "policy": ("policy", "Try out, explain, lint and replay policies."),
    "runs": ("runs", "List runs, show their timelines, go on with them, end them."),
    "approvals": ("approvals", "List and decide requests for approval."),
    "kill": ("kill", "Stop calls at once, in every process."),
    "revive": ("kill", "Turn a switch off again."),
    "kills": ("kill", "List the switches that are on."),
    "audit": ("audit", "Check the audit chains, sign checkpoints, export, erase payloads."),
    "replay": ("replay", "Take a run's proposals through the gate again; nothing is executed."),
    "secrets": ("secrets", "Set, list, remove and bind the secrets that tools use."),
    "config": ("config", "Show the settings."),
    "serve": ("serve", "Serve HTTP, WebSocket and event streams before one gateway."),
    "keys": ("keys", "Make, list and revoke the keys of the server."),
    "parse": ("parse", "Read a model's answer and print its events."),
}
"""The commands, each with its module here and its line in the list. A module is loaded when it is wanted."""


def build() -> typer.Typer:
    """Return the application with all its commands."""
    app = _bare()
    for module in dict.fromkeys(module for module, _ in COMMANDS.values()):
        _load(app, module)
    return app


def _load(app: typer.Typer, module: str) -> None:
    importlib.import_module(f"gerbang.cli.{module}").register(app)
    show_examples(app)


def _for(arguments: list[str]) -> typer.Typer:
    """Return the application with the one command that is called, else with all their names."""
    app = _bare()
    called = arguments[0] if arguments else ""
    if called in COMMANDS:
        _load(app, COMMANDS[called][0])
    else:
        for name, (_, line) in COMMANDS.items():
            app.command(name, help=line)(_nothing)
    return app


def _nothing() -> None:
    """Stand for a command in the list of them."""


def _bare() -> typer.Typer:
    app = typer.Typer(
        name="gerbang",
        help="Gerbang stands between a language model and everything it could change or leak.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain help: it is read by people and by scripts, and starts at once
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    return app


def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Gerbang stands between a language model and everything it could change or leak."""


def main() -> None:
    """Run the command line and end the process with the promised exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without Unicode gets escapes, not an error
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code. Never raises, and never prints a stack trace."""
    try:
        code = _for(arguments)(arguments, prog_name="gerbang", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        show = getattr(error, "show", None)  # errors of usage show the command's usage line as well
        if show is not None:
            show()
        else:
            sys.stderr.write(f"Error: {error.format_message()}\n")
        return Exit.USAGE
    except (typer.Abort, KeyboardInterrupt):
        return report(KeyboardInterrupt())
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else Exit.FAILED
    except Exception as error:  # the last line of defence: a user never sees a stack trace
        return report(error)
    if code == Exit.INTERRUPTED:  # typer turns Ctrl-C into this code without a word
        return report(KeyboardInterrupt())
    return code if isinstance(code, int) else Exit.DONE
