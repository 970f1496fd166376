"""`gerbang chat`: talk to a model that acts only through the gate."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Final

import typer

import gerbang as g
from gerbang.cli import options, speaking, street
from gerbang.cli.exits import Exit, for_status
from gerbang.cli.narrate import Narrator, event_json, run_json
from gerbang.cli.prompt_line import PromptLine
from gerbang.cli.running import run_interruptible
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.cli.standard_input import checked_argument, read_all
from gerbang.cli.texts import say
from gerbang.compose.carrying import answer_of
from gerbang.config import Settings
from gerbang.errors import GerbangError, UsageError
from gerbang.runtime.events import AgentEvent, AnswerDelta, Finished, RunResult, ToolCalled
from gerbang.values.message import Message

_MAX_PROMPT_BYTES: Final = 1_048_576


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
    tools: options.HttpTools = None,
    secrets: options.Secrets = None,
    policy: options.Policy = None,
    store: options.Store = None,
    max_steps: Annotated[int | None, typer.Option("--max-steps", help="Model answers a turn.")] = None,
    stream: Annotated[
        bool | None,
        typer.Option("--stream/--no-stream", help="Print the answer as it is made. With --json: events."),
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="Each line of standard input is a request of one conversation.")
    ] = False,
    pending: options.Pending = False,
    speak: speaking.Speak = False,
    speak_file: speaking.SpeakFile = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Ask once, or talk. Tools run only if the gate allows it; a person is asked where policy says so.

    Standard input that is piped is one request, all of it; with --lines each line is one.
    """
    chosen = options.settings(
        config,
        model=model,
        profile=profile,
        lang=lang,
        workspace=workspace,
        knowledge=knowledge,
        policy=policy,
        store=store,
        tools_file=tools,
        secrets=secrets,
        max_steps=max_steps,
    )
    voice = speaking.voice(speak, speak_file, chosen.lang, Screen.standard())
    texts = _each_line(prompt) if lines else _given(prompt)
    try:
        if texts is not None:
            return run_interruptible(
                _ask(chosen, texts, python or [], as_json=json, stream=stream, pending=pending, voice=voice)
            )
        if json:
            raise UsageError(say("json_needs_prompt"))
        return _converse(chosen, python or [], pending=pending, voice=voice)
    finally:
        if voice is not None:
            voice.write_file()


def _each_line(prompt: str | None) -> list[str]:
    """Return the requests on standard input, one a line."""
    if prompt not in (None, "-"):
        raise UsageError(say("lines_or_prompt"))
    texts = [line for line in read_all(_MAX_PROMPT_BYTES, say("the_prompt")).splitlines() if line.strip()]
    if not texts:
        raise UsageError(say("prompt_empty"))
    return texts


def _given(prompt: str | None) -> list[str] | None:
    """Return the prompt from the command line or standard input, or None to talk."""
    if prompt == "-" or (prompt is None and not sys.stdin.isatty()):
        prompt = read_all(_MAX_PROMPT_BYTES, say("the_prompt"))
    if prompt is None:
        return None
    if not prompt.strip():
        raise UsageError(say("prompt_empty"))
    return [checked_argument(prompt, say("the_prompt"))]


async def _ask(
    settings: Settings,
    texts: list[str],
    extra: list[str],
    *,
    as_json: bool,
    stream: bool | None,
    pending: bool,
    voice: speaking.Voice | None = None,
) -> Exit:
    """Answer the requests in order. The exit code is that of the first one that did not end well."""
    screen = Screen.standard()
    history: list[Message] = []
    asks_here = street.asks_here(settings, screen, pending=pending)
    codes = []
    async with (
        street.gateway(settings, screen, extra, pending=pending) as gate,
        street.agent(settings, screen, gate) as agent,
    ):
        for text in texts:
            if as_json:
                result = await _documents(agent, screen, text, history, events=bool(stream))
            else:
                streaming = sys.stdout.isatty() if stream is None else stream
                result = await turn(
                    agent,
                    screen,
                    text,
                    history=list(history),
                    stream=streaming,
                    asks_here=asks_here,
                    voice=voice,
                )
            codes.append(for_status(result.status))
            await _remember(agent, history, text, result)
    return next((code for code in codes if code != Exit.DONE), Exit.DONE)


async def _documents(
    agent: "g.Agent", screen: Screen, text: str, history: list[Message], *, events: bool
) -> RunResult:
    if not events:
        result = await agent.run(text, history=list(history))
        screen.document(run_json(result))
        return result
    async for event in agent.stream(text, history=list(history)):
        screen.document(event_json(event))
        if isinstance(event, Finished):
            result = event.result
    return result


async def _remember(agent: "g.Agent", history: list[Message], text: str, result: RunResult) -> None:
    if result.status == "completed":
        gateway = agent.gateway
        answer = await answer_of(gateway.store, result.run_id, gateway.catalogue, result.answer)
        history += [Message("user", text), answer]


async def turn(
    agent: "g.Agent",
    screen: Screen,
    text: str,
    *,
    history: list[Message] | None = None,
    stream: bool = True,
    detailed: bool = False,
    asks_here: bool = False,
    voice: speaking.Voice | None = None,
) -> RunResult:
    """Run one request, print and say what happens, and return the run's result.

    `stream` prints text as the model writes it; otherwise only the answer is printed, at the end. `asks_here`
    as for `Narrator`.
    """
    narrator = Narrator(screen, detailed=detailed, asks_here=asks_here)
    streamed = ""
    async with screen.spinning(), _spoken(voice) as heard:
        screen.status(say("thinking"))
        async for event in agent.stream(text, history=history or []):
            if isinstance(event, Finished):
                result = event.result
            if isinstance(event, AnswerDelta):
                streamed += event.text
                if not stream:
                    heard(event)
                    continue
            elif isinstance(event, ToolCalled):
                streamed = ""
            narrator.on(event)
            heard(event)
    if detailed:
        screen.line(f"{screen.styled(say('answer'), 'bold')} {printable(result.answer.strip())}")
    elif not stream or streamed.strip() != result.answer.strip():
        screen.line(printable(result.answer).rstrip("\n"))
    else:
        screen.end_line()
    if result.status != "completed":
        ending = say(f"end_{result.status}") if result.status in _ENDINGS else result.status
        screen.note(f"({ending}{_because(result)})")
    elif result.detail:
        screen.note(f"({one_line(result.detail, 400)})")
    elif not result.calls and not agent.model.writes_prose:
        screen.note(say("no_prose"))
    return result


@contextlib.asynccontextmanager
async def _spoken(voice: speaking.Voice | None) -> AsyncIterator[Callable[[AgentEvent], None]]:
    """Give what hears the events of a turn: the voice, or nobody."""
    if voice is None:
        yield lambda _: None
        return
    async with voice.turn():
        yield voice.on


_ENDINGS: Final = ("max_steps", "budget", "denied", "pending_approval", "cancelled", "model_error")


def _because(result: RunResult) -> str:
    return f": {one_line(result.detail, 400)}" if result.detail else ""


def _converse(
    settings: Settings, extra: list[str], *, pending: bool, voice: speaking.Voice | None = None
) -> Exit:
    """Talk until the input ends. One event loop serves all turns; between turns it rests."""
    screen = Screen.standard()
    line = PromptLine()
    history: list[Message] = []
    asks_here = street.asks_here(settings, screen, pending=pending)
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()

        async def open_all() -> "g.Agent":
            opened = street.gateway(settings, screen, extra, pending=pending)
            gate = await stack.enter_async_context(opened)
            return await stack.enter_async_context(street.agent(settings, screen, gate))

        agent = runner.run(open_all())
        head = {"model": one_line(settings.model), "profile": settings.profile, "keys": say("chat_keys")}
        screen.note(say("chat_head", **head))
        try:
            while True:
                try:
                    text = line.ask(say("you"))
                except EOFError:
                    screen.note("")
                    return Exit.DONE
                except KeyboardInterrupt:
                    screen.note("\n" + say("ctrl_d"))
                    continue
                command = text.strip()
                if command in ("/quit", "/exit"):
                    return Exit.DONE
                if command == "/new":
                    history.clear()
                elif command.startswith("/"):
                    screen.note(say("chat_keys"))
                elif command:
                    _take_turn(runner, agent, screen, text, history, asks_here, voice)
        finally:
            line.close()
            runner.run(stack.aclose())


def _take_turn(
    runner: asyncio.Runner,
    agent: "g.Agent",
    screen: Screen,
    text: str,
    history: list[Message],
    asks_here: bool,
    voice: speaking.Voice | None,
) -> None:
    try:
        result = runner.run(
            turn(agent, screen, text, history=list(history), asks_here=asks_here, voice=voice)
        )
        runner.run(_remember(agent, history, text, result))
    except KeyboardInterrupt:
        screen.note("\n" + say("stopped"))
    except GerbangError as error:
        screen.note(say("error", text=one_line(str(error), 600)))
