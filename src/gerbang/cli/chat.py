"""`gerbang chat`: talk to a model that acts only through the gate."""

import asyncio
import contextlib
import sys
from typing import Annotated, Final

import typer

from gerbang import Agent
from gerbang.cli import options, street
from gerbang.cli.exits import Exit, for_status
from gerbang.cli.narrate import Narrator, event_json, run_json
from gerbang.cli.prompt_line import PromptLine
from gerbang.cli.running import run_interruptible
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.cli.standard_input import checked_argument, read_all
from gerbang.config import Settings
from gerbang.errors import GerbangError, UsageError
from gerbang.runtime.events import AnswerDelta, Finished, RunResult, ToolCalled
from gerbang.values.message import Message

_MAX_PROMPT_BYTES: Final = 1_048_576
_HELP: Final = "/new forgets the conversation, /quit (or Ctrl-D) ends. Ctrl-C stops the turn that is running."


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("chat")(chat)


def chat(
    prompt: Annotated[
        str | None,
        typer.Argument(metavar="[PROMPT]", help="Ask this and end; - reads standard input; none: talk."),
    ] = None,
    model: options.Model = None,
    profile: options.Profile = None,
    lang: options.Lang = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    python: options.Tools = None,
    policy: options.Policy = None,
    store: options.Store = None,
    max_steps: Annotated[int | None, typer.Option("--max-steps", help="Model answers a turn.")] = None,
    stream: Annotated[
        bool | None,
        typer.Option("--stream/--no-stream", help="Print the answer as it is made. With --json: events."),
    ] = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Ask once, or talk. Tools run only if the gate allows it; a person is asked where policy says so."""
    chosen = options.settings(
        config,
        model=model,
        profile=profile,
        lang=lang,
        workspace=workspace,
        knowledge=knowledge,
        policy=policy,
        store=store,
        max_steps=max_steps,
    )
    text = _given(prompt)
    if text is not None:
        return run_interruptible(_once(chosen, text, python or [], as_json=json, stream=stream))
    if json:
        raise UsageError("--json needs a prompt: gerbang chat --json 'What is 25 * 4 + 10?'")
    return _converse(chosen, python or [])


def _given(prompt: str | None) -> str | None:
    """Return the prompt from the command line or standard input, or None to talk."""
    if prompt == "-" or (prompt is None and not sys.stdin.isatty()):
        prompt = read_all(_MAX_PROMPT_BYTES, "The prompt")
    if prompt is None:
        return None
    if not prompt.strip():
        raise UsageError("The prompt is empty. Write one: gerbang chat 'What is 25 * 4 + 10?'")
    return checked_argument(prompt, "The prompt")


async def _once(
    settings: Settings, text: str, extra: list[str], *, as_json: bool, stream: bool | None
) -> Exit:
    screen = Screen.standard()
    async with street.gateway(settings, screen, extra) as gate, street.agent(settings, screen, gate) as agent:
        if as_json and not stream:
            result = await agent.run(text)
            screen.document(run_json(result))
        elif as_json:
            async for event in agent.stream(text):
                screen.document(event_json(event))
                if isinstance(event, Finished):
                    result = event.result
        else:
            result = await turn(agent, screen, text, stream=sys.stdout.isatty() if stream is None else stream)
    return for_status(result.status)


async def turn(
    agent: Agent,
    screen: Screen,
    text: str,
    *,
    history: list[Message] | None = None,
    stream: bool = True,
    detailed: bool = False,
) -> RunResult:
    """Run one request, print what happens, and return the run's result.

    `stream` prints text as the model writes it; otherwise only the answer is printed, at the end.
    """
    narrator = Narrator(screen, detailed=detailed)
    streamed = ""
    async with screen.spinning():
        screen.status("thinking")
        async for event in agent.stream(text, history=history or []):
            if isinstance(event, Finished):
                result = event.result
            if isinstance(event, AnswerDelta):
                streamed += event.text
                if not stream:
                    continue
            elif isinstance(event, ToolCalled):
                streamed = ""
            narrator.on(event)
    if detailed:
        screen.line(f"{screen.styled('Answer:', 'bold')} {printable(result.answer.strip())}")
    elif not stream or streamed.strip() != result.answer.strip():
        screen.line(printable(result.answer).rstrip("\n"))
    else:
        screen.end_line()
    if result.status != "completed":
        screen.note(f"({_ENDINGS.get(result.status, result.status)}{_because(result)})")
    return result


_ENDINGS: Final = {
    "max_steps": "stopped at the step limit",
    "budget": "stopped: a budget is used up",
    "denied": "stopped: a call was denied",
    "pending_approval": "waiting for a person's approval",
    "cancelled": "cancelled",
    "model_error": "the model gave no answer",
}


def _because(result: RunResult) -> str:
    return f": {one_line(result.detail, 400)}" if result.detail else ""


def _converse(settings: Settings, extra: list[str]) -> Exit:
    """Talk until the input ends. One event loop serves all turns; between turns it rests."""
    screen = Screen.standard()
    line = PromptLine()
    history: list[Message] = []
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()

        async def open_all() -> Agent:
            gate = await stack.enter_async_context(street.gateway(settings, screen, extra))
            return await stack.enter_async_context(street.agent(settings, screen, gate))

        agent = runner.run(open_all())
        screen.note(f"Model {one_line(settings.model)}, profile {settings.profile}. {_HELP}")
        try:
            while True:
                try:
                    text = line.ask("you> ")
                except EOFError:
                    screen.note("")
                    return Exit.DONE
                except KeyboardInterrupt:
                    screen.note("\n(Ctrl-D ends)")
                    continue
                command = text.strip()
                if command in ("/quit", "/exit"):
                    return Exit.DONE
                if command == "/new":
                    history.clear()
                elif command.startswith("/"):
                    screen.note(_HELP)
                elif command:
                    _take_turn(runner, agent, screen, text, history)
        finally:
            line.close()
            runner.run(stack.aclose())


def _take_turn(
    runner: asyncio.Runner, agent: Agent, screen: Screen, text: str, history: list[Message]
) -> None:
    try:
        result = runner.run(turn(agent, screen, text, history=list(history)))
    except KeyboardInterrupt:
        screen.note("\nStopped. What had begun is on record; nothing more will start.")
    except GerbangError as error:
        screen.note(f"Error: {one_line(str(error), 600)}")
    else:
        if result.status == "completed":
            history += [Message("user", text), Message("assistant", result.answer)]
