"""The command line as a whole: which commands there are, and how the process ends."""

import sys
from typing import Annotated

import typer

from gerbang import __version__
from gerbang.cli import (
    approvals,
    audit,
    call,
    chat,
    config,
    demo,
    keys,
    kill,
    parse,
    policy,
    replay,
    runs,
    secrets,
    serve,
    tools,
)
from gerbang.cli.examples import show_examples
from gerbang.cli.exits import Exit, report


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def build() -> typer.Typer:
    """Return the application with all its commands."""
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
    for module in (
        chat,
        call,
        demo,
        tools,
        policy,
        runs,
        approvals,
        kill,
        audit,
        replay,
        secrets,
        config,
        parse,
        serve,
        keys,
    ):
        module.register(app)
    show_examples(app)
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
        code = build()(arguments, prog_name="gerbang", standalone_mode=False)
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
