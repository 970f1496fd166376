"""`gerbang demo`: the main job on a sample workspace, shown step by step. What `make run` calls."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec.structs import replace

from gerbang.adapters.stores import shown_address
from gerbang.cli import options, street
from gerbang.cli.chat import turn
from gerbang.cli.exits import Exit
from gerbang.cli.narrate import run_json
from gerbang.cli.running import run_interruptible
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.texts import language, say
from gerbang.config import Settings
from gerbang.packs.basics import default_workspace
from gerbang.packs.sample import KNOWLEDGE, copy_sample

REQUESTS: Final = {
    "en": (
        "What is 25 * 4 + 10?",
        "Read notes.txt",
        "Read notes.txt and then work out 12% of 340",
    ),
    "id": (
        "Hitung 25 * 4 + 10",
        "Baca berkas catatan.txt",
        "Baca catatan.txt dan baca tugas.md",
    ),
}
"""The last one needs two calls."""
_NOTES: Final = {"en": "notes.txt", "id": "catatan.txt"}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("demo")(demo)


def demo(
    model: options.Model = None,
    lang: options.Lang = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
    request: Annotated[list[str] | None, typer.Argument(metavar="[REQUEST]...", help="Your own.")] = None,
) -> int:
    """Answer three requests on a sample workspace, and show what the gate does with each call."""
    chosen = options.settings(config, model=model, lang=lang, store=store)
    workspace = _sample(chosen)
    knowledge = chosen.knowledge or str(workspace / KNOWLEDGE[chosen.lang])
    chosen = replace(chosen, workspace=str(workspace), knowledge=knowledge)
    requests = request or list(REQUESTS[chosen.lang])
    return run_interruptible(_documents(chosen, requests) if json else _demo(chosen, requests, workspace))


async def _documents(settings: Settings, requests: list[str]) -> Exit:
    """Print the result of each request as JSON, one a line."""
    screen = Screen.standard()
    statuses = []
    async with street.gateway(settings, screen) as gate, street.agent(settings, screen, gate) as agent:
        for request in requests:
            result = await agent.run(request)
            screen.document(run_json(result))
            statuses.append(result.status)
    return Exit.DONE if all(status == "completed" for status in statuses) else Exit.FAILED


async def _demo(settings: Settings, requests: list[str], workspace: Path) -> Exit:
    screen = Screen.standard()
    screen.line(say("demo_title"), "title")
    where = {"model": settings.model, "workspace": str(workspace), "store": shown_address(settings.store)}
    screen.line(say("demo_where", **{name: one_line(text) for name, text in where.items()}))
    if not screen.moving:
        screen.note(say("demo_starting"))
    statuses = []
    async with street.gateway(settings, screen) as gate, street.agent(settings, screen, gate) as agent:
        for number, request in enumerate(requests, 1):
            screen.line()
            screen.line(say("demo_you", request=one_line(request)), "bold")
            if not screen.moving:  # no spinner there: say at least that something is going on
                screen.note(say("demo_answering", number=number, count=len(requests)))
            result = await turn(agent, screen, request, stream=False, detailed=True)
            statuses.append(result.status)
    _what_next(screen)
    return Exit.DONE if all(status == "completed" for status in statuses) else Exit.FAILED


def _sample(settings: Settings) -> Path:
    """Return the sample workspace: the usual one, filled, unless somebody's own files are in it."""
    workspace = default_workspace(settings.lang)
    entries = {path.name for path in workspace.iterdir()}
    if entries and _NOTES[settings.lang] not in entries:
        workspace = Path(".gerbang") / "demo"
    return copy_sample(workspace, settings.lang)


def _what_next(screen: Screen) -> None:
    program = _program()
    lang = "" if language() == "en" else f" --lang {language()}"
    screen.line()
    screen.line(say("what_next"), "title")
    for command, about in (
        ("chat", "next_chat"),
        ("runs list", "next_runs"),
        ("tools list", "next_tools"),
        ("chat --model ollama:MODEL@http://127.0.0.1:11434", "next_ollama"),
        ("chat --model openai:MODEL@http://127.0.0.1:8080/v1", "next_openai"),
    ):
        screen.line(f"  {program} {command}{lang}")
        screen.line(f"      {screen.styled(say(about), 'dim')}")


def _program() -> str:
    """Return the command as a person in this folder can type it."""
    path = Path(sys.argv[0])
    if path.name != "gerbang":
        return "gerbang"
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return "gerbang"
