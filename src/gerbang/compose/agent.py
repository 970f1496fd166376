"""The agent: a model, a gateway, and the loop between them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from gerbang import parse
from gerbang.compose.agent_options import (
    cost,
    dialect_of,
    gateway_of,
    model_of,
    positive,
    profile_of,
    seconds,
    whole,
    words,
)
from gerbang.compose.carrying import brings_outside
from gerbang.compose.client_tools import Client, ClientTools
from gerbang.compose.continuing import continued, last_results
from gerbang.compose.events import AgentEvent, RunResult
from gerbang.compose.gateway import Gateway
from gerbang.compose.messages import last_prompt, read_messages, read_prompt
from gerbang.compose.runs import check_place
from gerbang.compose.streaming import streamed
from gerbang.contract.catalogue import Catalogue
from gerbang.contract.client_tools import ClientTool
from gerbang.errors import UsageError
from gerbang.limits import (
    CONTEXT_TOKENS,
    MAX_CALLS,
    MAX_PARALLEL,
    MODEL_TIMEOUT_S,
    RUN_DEADLINE_S,
)
from gerbang.loop.budget import Budget
from gerbang.loop.profile import profile_named
from gerbang.ports import Model
from gerbang.runtime.beginning import AlreadyBegun, Beginning
from gerbang.runtime.driver import RunDriver
from gerbang.runtime.manners import WORDS
from gerbang.runtime.resuming import progress_of, remember
from gerbang.runtime.run_settings import RunSettings, new_run_id
from gerbang.runtime.session import RunMemory, RunSession
from gerbang.values import LOCAL, Message, Principal
from gerbang.values.model import Sampling

_NO_CLIENT = Client()


class _Given(Struct, frozen=True):
    """What a run is asked: the prompt (None: the history ends with it), and for which client."""

    prompt: str | None
    history: Iterable[Message | dict[str, Any]]
    client: Client | None
    beginning: Beginning | None = None


class Agent:
    """Runs requests through a model and a gateway.

    `model` is an address (`embedded:`, `openai:MODEL@URL`, `ollama:MODEL@URL`, `gguf:PATH`) or a Model.
    `profile` names a bundle of settings: terminal, gateway, voice, minimal or local. `dialect` makes the
    model speak that text format instead of the API's structured calls. `system` is put before the
    conversation. The limits override those of the profile; `deadline_s` is the wall clock of a run and
    `model_timeout_s` that of one answer, in seconds; `context_tokens` the model's window; `max_cost` is in
    cost units of the tools, `max_tokens` counts what the model reads and writes in one run.
    """

    def __init__(
        self,
        model: "str | Model",
        gateway: Gateway,
        *,
        profile: str = "gateway",
        lang: str = "en",
        system: str = "",
        dialect: str | None = None,
        stream: bool = True,
        max_steps: int | None = None,
        max_calls: int = MAX_CALLS,
        max_repeats: int | None = None,
        deadline_s: float | None = RUN_DEADLINE_S,
        max_parallel: int = MAX_PARALLEL,
        result_max_chars: int | None = None,
        model_timeout_s: float = MODEL_TIMEOUT_S,
        context_tokens: int | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
    ) -> None:
        words(profile, lang, system, stream)
        self.gateway = gateway_of(gateway)
        self.profile = profile_of(profile, max_steps, result_max_chars)
        self.profile.texts(lang)
        self.lang = lang
        self.model: Model = model_of(model, gateway.secrets)
        if isinstance(model, str):
            gateway.models.add(self.model)  # nobody else can close what was opened here
        self._system = system
        self._text_protocol = self._speaks_text(dialect)
        self._dialect = dialect_of(dialect, self.profile, self.model.name)
        self._stream = stream
        self._max_calls = max_calls
        self._max_repeats = max_repeats
        self._deadline_s = deadline_s
        self._max_parallel = max_parallel
        self._model_timeout_s = model_timeout_s
        self._context_tokens = context_tokens
        self._max_cost = max_cost
        self._max_tokens = max_tokens
        self._prompts: WeakKeyDictionary[Catalogue, str] = WeakKeyDictionary()
        self._client_tools = ClientTools()
        self._likes: dict[str, Agent] = {}
        positive(max_calls=max_calls, max_parallel=max_parallel)
        whole(context_tokens=context_tokens, max_tokens=max_tokens, max_repeats=max_repeats)
        cost(max_cost)
        seconds(model_timeout_s=model_timeout_s)
        if deadline_s is not None:
            seconds(deadline_s=deadline_s)

    async def run(
        self,
        prompt: str | None,
        *,
        principal: Principal | None = None,
        purpose: str | None = None,
        intent: str | None = None,
        state: str | None = None,
        history: Iterable[Message | dict[str, Any]] = (),
        run_id: str | None = None,
        client: Client | None = None,
    ) -> RunResult:
        """Answer one request and return the result. `history` is the conversation so far.

        `prompt` None means that `history` ends with what is answered. `client` brings tools that it runs
        itself: a run whose model calls one, in a way that fits its schema and that policy allows, ends with
        the status `client_calls`. It goes on when a next run gets, in `history`, an assistant's message with
        these calls and a `tool` message with the result of each.

        `intent` and `state` say which tools the run may know of (`Contract.expose`). `run_id` names the run,
        for a caller that has to know it beforehand; it must be new.

        What a model or a tool does wrong never raises: it is in the result. Raises StoreError when a
        record cannot be written, UsageError for wrong arguments, CancelledError when cancelled.
        """
        given = _Given(prompt, history, client)
        return await self._drive(given, principal, purpose, intent, None, run_id, state)

    def run_sync(self, prompt: str, **options: Any) -> RunResult:
        """Do `run` from code that has no event loop. The gateway must be opened in the same call: pass one
        that is not open yet. Raises UsageError where an event loop runs.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # that is how asyncio says that there is none
            pass
        else:
            raise UsageError("An event loop runs here already: write `await agent.run(...)`.")

        async def opened() -> RunResult:
            async with self.gateway:
                try:
                    return await self.run(prompt, **options)
                finally:
                    await self.model.aclose()

        return asyncio.run(opened())

    async def stream(
        self,
        prompt: str | None,
        *,
        principal: Principal | None = None,
        purpose: str | None = None,
        intent: str | None = None,
        state: str | None = None,
        history: Iterable[Message | dict[str, Any]] = (),
        run_id: str | None = None,
        client: Client | None = None,
        beginning: Beginning | None = None,
    ) -> AsyncIterator[AgentEvent]:
        """Answer one request and yield events while it runs, `Finished` last.

        Leaving the loop early cancels the run; it is recorded as cancelled. Raises what `run` raises.
        `beginning` is for a run under a key: one that a key began keeps all others from beginning.
        """
        given = _Given(prompt, history, client, beginning)
        events = streamed(lambda emit: self._drive(given, principal, purpose, intent, emit, run_id, state))
        async with contextlib.aclosing(events):
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Free the model's processes and connections. The gateway stays open; its own end frees them too."""
        await self.model.aclose()

    def like(self, profile: str) -> "Agent":
        """Return the agent with another profile: its texts, its protocol, its limits. Raises UsageError."""
        found = self._likes.get(profile)
        if found is not None:
            return found
        other = copy(self)
        other.profile = profile_named(profile)
        other.profile.texts(self.lang)
        other._text_protocol = other._speaks_text(None)
        other._dialect = dialect_of(None, other.profile, self.model.name)
        other._prompts = WeakKeyDictionary()
        self._likes[profile] = other
        return other

    def tools_for(
        self, client: Client, *, principal: Principal | None = None, intent: str | None = None
    ) -> Catalogue:
        """Return the tools that a run for a client may know of. Raises UsageError for tools of the client
        that cannot be used, and for a tool that it wants called and that there is not.
        """
        catalogue = self.gateway.session("-", principal=principal, intent=intent).catalogue
        if client.tools:
            catalogue = self._client_tools.on(catalogue, client.tools)
        wanted = client.sampling.tool_choice
        if wanted not in WORDS and catalogue.find(wanted) is None:
            raise UsageError(f"There is no tool {wanted[:80]!r} to choose.")
        return catalogue

    async def _drive(
        self,
        given: _Given,
        principal: Principal | None,
        purpose: str | None,
        intent: str | None,
        emit: Callable[[AgentEvent], None] | None,
        run_id: str | None = None,
        state: str | None = None,
    ) -> RunResult:
        check_place(principal or LOCAL, run_id, 1, None, purpose, intent)
        session = self._session(run_id or new_run_id(), principal, purpose, intent, state, emit)
        session.beginning = given.beginning
        client = given.client or _NO_CLIENT
        tools = client.tools
        if tools:
            session.catalogue = self._client_tools.on(session.catalogue, tools)
        said = read_messages(given.history)
        prompt = last_prompt(said) if given.prompt is None else read_prompt(given.prompt)
        settings = self._settings(client.sampling)
        brought: list[str] = []
        if given.client is not None:
            brought = last_results(said)
            said = await continued(self.gateway.store, session, said, settings)
        session.memory.tainted = brings_outside(said)
        store = self.gateway.store
        if run_id is not None and await store.run(run_id) is not None:
            raise AlreadyBegun(run_id)
        messages = self._opening(session.catalogue, said)
        if given.prompt is not None:
            messages.append(Message("user", prompt))
        leases = self.gateway.leases
        leases.begin(session)
        try:
            return await self._driver(session, settings, tools, brought).run(messages, prompt)
        finally:  # whatever ended it: a lease that is kept, and renewed, keeps everybody else from going on
            await leases.let_go(session)

    async def resume(
        self,
        run_id: str,
        *,
        principal: Principal | None = None,
        state: str | None = None,
        emit: Callable[[AgentEvent], None] | None = None,
    ) -> RunResult:
        """Go on with a run that was cut off, or that waits for an approval that has been given by now.

        Nothing that is finished is done again, and the model is not asked again for an answer that is on
        record. Scopes and roles are those of `principal` as given now. `emit` gets the run's events. Raises
        UsageError for a run that is over, another's, kept no conversation, or is driven elsewhere.
        """
        gateway, who = self.gateway, principal or LOCAL
        check_place(who, run_id, 1, None, None, None)
        row = await gateway.store.run(run_id)
        if row is None or (row.tenant, row.user) != (who.tenant, who.user):
            raise UsageError(f"There is no run {str(run_id)[:80]!r} of {who.user}.")
        progress = await progress_of(gateway.store, row)
        opening = progress.opening
        session = self._session(run_id, principal, opening.purpose, opening.intent, state, emit)
        tools = opening.client_tools
        if tools:
            session.catalogue = self._client_tools.on(session.catalogue, tools)
        session.memory.adopt(row.salt)
        if not await gateway.leases.take(session):
            raise UsageError(f"Run {run_id} is driven by another process now. Try again when that has ended.")
        try:
            fresh = await gateway.store.run(run_id)
            progress = await progress_of(gateway.store, fresh or row)  # as it is now that it is ours
            await remember(gateway.store, session, session.memory)
            session.memory.tainted |= brings_outside(progress.opening.messages)
            return await self._driver(session, self._settings(_NO_CLIENT.sampling), tools).resume(progress)
        finally:
            await gateway.leases.let_go(session)

    def _session(
        self,
        run_id: str,
        principal: Principal | None,
        purpose: str | None,
        intent: str | None,
        state: str | None,
        emit: Callable[[AgentEvent], None] | None,
    ) -> RunSession:
        gateway = self.gateway
        deadline = None if self._deadline_s is None else gateway.clock.monotonic() + self._deadline_s
        budget = Budget(
            max_calls=self._max_calls,
            max_repeats=self._max_repeats or self.profile.max_repeats,
            deadline=deadline,
            max_cost=self._max_cost,
            max_tokens=self._max_tokens,
        )
        return gateway.session(
            run_id,
            principal=principal,
            purpose=purpose,
            intent=intent,
            state=state,
            profile=self.profile,
            lang=self.lang,
            memory=RunMemory(budget),
            emit=emit,
        )

    def _settings(self, sampling: Sampling) -> RunSettings:
        return RunSettings(
            max_steps=self.profile.max_steps,
            max_parallel=self._max_parallel,
            stream=self._stream,
            model_timeout_s=self._model_timeout_s,
            context_tokens=self._context_tokens or self.model.context_tokens or CONTEXT_TOKENS,
            dialect=self._dialect,
            text_protocol=self._text_protocol,
            deadline_s=self._deadline_s,
            temperature=self.profile.temperature,
            sampling=sampling,
        )

    def _driver(
        self,
        session: RunSession,
        settings: RunSettings,
        tools: tuple[ClientTool, ...],
        brought: Sequence[str] = (),
    ) -> RunDriver:
        gateway = self.gateway
        return RunDriver(
            gate=gateway.gate,
            model=self.model,
            store=gateway.store,
            clock=gateway.clock,
            session=session,
            settings=settings,
            leases=gateway.leases,
            client_tools=tools,
            brought=brought,
        )

    def _speaks_text(self, dialect: str | None) -> bool:
        """Tell whether calls go as text. A model without prose gives structured calls in every profile."""
        return self.model.writes_prose and (dialect is not None or self.profile.protocol == "text")

    def _opening(self, catalogue: Catalogue, history: list[Message]) -> list[Message]:
        parts = [self._system] if self._system else []
        if self._text_protocol:
            parts.append(self._tool_prompt(catalogue))
        if parts and history and history[0].role == "system":  # many templates take one, and only first
            parts.append(history[0].content)
            history = history[1:]
        messages = [Message("system", "\n\n".join(parts))] if parts else []
        messages.extend(history)
        return messages

    def _tool_prompt(self, catalogue: Catalogue) -> str:
        found = self._prompts.get(catalogue)
        if found is None:
            specs = catalogue.specs_in(self.lang)
            tools = [
                {"name": spec.wire_name, "description": spec.description, "parameters": spec.parameters}
                for spec in specs
            ]
            found = parse.system_prompt(tools, self._dialect, lang=self.lang)
            self._prompts[catalogue] = found
        return found
