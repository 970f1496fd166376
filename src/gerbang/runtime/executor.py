"""Running a tool: the one place where effects happen, opened by a grant, closed by a time-out."""

import asyncio
import inspect
import logging
import re
import secrets
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from gerbang.approval.grant import AuthorisedCall
from gerbang.audit.redact import redact
from gerbang.contract.catalogue import Entry
from gerbang.contract.check import output_findings
from gerbang.contract.client_tools import is_clients
from gerbang.errors import NotSent, ToolError
from gerbang.limits import MAX_CODE_TEXT, MAX_TOOL_WORDS
from gerbang.ports import Tool
from gerbang.runtime.body import CancelledInside, TimeUp, driven
from gerbang.runtime.broken_links import fault_in
from gerbang.runtime.clearance import Clearance
from gerbang.runtime.deadlines import Deadlines
from gerbang.runtime.handing import HANDING
from gerbang.runtime.known_secrets import KnownSecrets
from gerbang.runtime.output import Output, output_error, read_output
from gerbang.runtime.refusals import not_cleared
from gerbang.runtime.threads import SyncPool, TooManyLate
from gerbang.values import CallContext, CallError, Contract, Effect, Outcome, ValidCall
from gerbang.values.canonical import copied
from gerbang.values.failure import ERROR_TYPES, MENDED, OWN_WORDS, TURNED_AWAY
from gerbang.values.sentences import said
from gerbang.values.text import clean_text

_LOGGED_FRAMES = 8
_PREVIEW_S = 10.0
_PREVIEW_CHARS = 20_000
_LOG = logging.getLogger("gerbang.tools")
_CODE = re.compile("[A-Z][A-Z0-9_]{0,63}")


Late = Callable[["asyncio.Future[Any]"], None]


class Execution(Struct, frozen=True, gc=False):
    """What came back, before it is shown: the outcome, and the JSON of its value."""

    outcome: Outcome
    output: Output | None = None


class Executor:
    """Runs authorised calls. `tools` maps canonical names to bodies; no result says what `known` knows."""

    def __init__(self, tools: Mapping[str, Tool], pool: SyncPool, known: KnownSecrets) -> None:
        self._tools = tools
        self._pool = pool
        self._known = known
        self._deadlines = Deadlines()

    async def run(
        self,
        authorised: AuthorisedCall,
        entry: Entry,
        timeout_s: float,
        on_late: Late | None = None,
        clearance: Clearance | None = None,
    ) -> Execution:
        """Run the call once and return what came of it; raises only CancelledError.

        `timeout_s` is in seconds. `clearance` is asked as late as can be. `on_late` gets the work of a
        mutation that goes on after its time-out or cancellation: what it says one day resolves the call. A
        grant that was used before runs nothing.
        """
        call = authorised.call
        read = call.contract.risk.is_read
        if not authorised.spend():
            return _failed(read, _internal("This grant was used before."), "none")
        tool = self._tools.get(call.contract.name) or self._body(call.contract)
        context = authorised.context
        if clearance is not None:
            code = await clearance.ask()
            if code:
                return _failed(read, not_cleared(code), "none")
            context = replace(context, clearance=clearance)
        if tool.blocking:
            return await self._in_thread(tool, call, context, entry, timeout_s, on_late)
        try:
            coroutine = tool.invoke(_own(call.arguments), context)
            returned = await driven(coroutine, self._deadlines, timeout_s)
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except TimeUp:
            return _failed(read, _timed_out(timeout_s, read), "none" if read else "unknown")
        except CancelledInside:
            return _failed(read, _internal("The tool was cancelled from inside."), "unknown")
        except BaseException as error:  # a tool may raise anything, the end of the program included
            return self._clean(_read(_raised, error, read))
        return self._clean(_read(_returned, returned, entry, read))

    def blocks(self, contract: Contract) -> bool:
        """Tell whether the tool's calls run in threads."""
        tool = self._tools.get(contract.name)
        return tool is not None and tool.blocking

    def _body(self, contract: Contract) -> Tool:
        return HANDING if is_clients(contract) else self._tools[contract.name]

    async def _in_thread(
        self,
        tool: Tool,
        call: ValidCall,
        context: CallContext,
        entry: Entry,
        timeout_s: float,
        on_late: Late | None,
    ) -> Execution:
        """Run a blocking tool. A thread cannot be ended: past its time its result is late."""
        arguments, read = _own(call.arguments), call.contract.risk.is_read

        def entered() -> Any:
            context.confirm_sync()  # it may have waited for its thread
            return tool.invoke_sync(arguments, context)

        try:
            work = self._pool.submit(entered)
        except TooManyLate:
            return _failed(read, _too_many(), "none")
        try:
            in_time = await self._settle(work, timeout_s)
        except asyncio.CancelledError:
            self._abandon(work, read, on_late)
            raise
        if not in_time:
            if not self._abandon(work, read, on_late) and not read:  # no thread was free for it: nothing ran
                return _failed(read, not_cleared("DEADLINE"), "none")
            return _failed(read, _timed_out(timeout_s, read), "none" if read else "unknown")
        return self._clean(_read(_finished, work, entry, read))

    def _clean(self, execution: Execution) -> Execution:
        """Mask secrets that this gateway has fetched, for whatever tool."""
        known = self._known
        if not known.any:
            return execution
        outcome, output = execution.outcome, execution.output
        cleaned = None if output is None else known.masked(output)
        if outcome.error is not None:
            outcome = replace(outcome, error=known.masked_error(outcome.error))
        elif cleaned is not output and cleaned is not None:
            outcome = replace(outcome, value=cleaned.value)
        return Execution(outcome, cleaned)

    def _abandon(self, work: "asyncio.Future[Any]", read: bool, on_late: Late | None) -> bool:
        """Leave work to itself; False when it never began, and never will."""
        if not self._pool.abandon(work):
            return False
        if on_late is not None and not read and not work.done():
            on_late(work)
        return True

    async def preview(self, call: ValidCall) -> str | None:
        """Return what the tool itself says that the call would do; None when it says nothing of the kind.

        Nothing is run but the tool's own previewer, which has no secrets and no grant.
        """
        function = getattr(self._body(call.contract), "previewer", None)
        if function is None:
            return None
        arguments = copied(call.arguments)
        try:
            said = await driven(self._said(function, arguments), self._deadlines, _PREVIEW_S)
            output = read_output(said)
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException:  # whatever it trips over, the call can still be looked at by its arguments
            return "The tool could not say what would happen."
        if isinstance(output, str):
            return "The tool could not say what would happen."
        return clean_text(redact(self._known.masked(output).plain[:_PREVIEW_CHARS]))

    async def _said(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        work = self._pool.submit(lambda: function(**arguments))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._pool.abandon(work)
            raise

    def late_result(self, work: "asyncio.Future[Any]", entry: Entry) -> Execution | None:
        """Return what abandoned work came to in the end; None when its effect is still not known."""
        execution = self._clean(_read(_finished, work, entry, False))
        return None if execution.outcome.state == "UNCERTAIN" else execution

    async def _settle(self, work: "asyncio.Future[Any]", timeout_s: float) -> bool:
        """Wait until the work is done, or the time is up. Unlike wait_for, it neither cancels nor raises."""
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        work.add_done_callback(lambda _: _set(settled))
        number = self._deadlines.add(timeout_s, lambda: _set(settled))
        try:
            await settled
        finally:
            self._deadlines.remove(number)
        return work.done()

    async def aclose(self) -> None:
        """Let idle threads go."""
        self._deadlines.close()
        self._pool.close()


def _own(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that the tool may change: what was decided on is what a next attempt is made with."""
    for value in arguments.values():
        if type(value) is list or type(value) is dict:
            owned: dict[str, Any] = copied(arguments)
            return owned
    return dict(arguments)


def _set(settled: "asyncio.Future[None]") -> None:
    if not settled.done():
        settled.set_result(None)


def _read(look: Callable[..., Execution], *what: Any) -> Execution:
    """Look at what came back. The objects are the tool's own and may do anything when looked at."""
    try:
        return look(*what)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException:  # even asking for a class or a text may raise
        read: bool = what[-1]
        return _failed(read, _internal("The tool's result could not be read."), "unknown")


def _finished(work: "asyncio.Future[Any]", entry: Entry, read: bool) -> Execution:
    if work.cancelled():
        return _failed(read, _internal("The tool was cancelled from inside."), "unknown")
    error = work.exception()
    return _returned(work.result(), entry, read) if error is None else _raised(error, read)


def _returned(value: Any, entry: Entry, read: bool) -> Execution:
    output = read_output(value)
    if isinstance(output, str):
        return Execution(Outcome("FAILED" if read else "SUCCEEDED", error=output_error(output, not read)))
    fields = None if entry.returns is None else output_findings(entry, output.value)
    if fields:
        error_value = output_error(f"The result of {entry.contract.name} breaks its own contract.", not read)
        return Execution(Outcome("FAILED" if read else "SUCCEEDED", error=error_value), output)
    return Execution(Outcome("SUCCEEDED", output.value), output)


def _raised(error: BaseException, read: bool) -> Execution:
    if isinstance(error, NotSent):
        return _failed(read, not_cleared(error.code), "none")
    if isinstance(error, ToolError):
        return _told(error, read)
    reference = secrets.token_hex(6)
    _LOG.info("%s: %s at %s", reference, _class_name(error), _places(error))
    about = {"reference": f"{_class_name(error)}, {reference}"}
    fault = fault_in(error)
    if fault is not None:
        kind = "timeout" if fault == "IDLE_TIMEOUT" else "transient_network_error"
        broken = said(kind, fault, about, entry=f"{fault}/raised", recoverable=True)
        return _failed(read, broken, "none" if read else "unknown")
    text = f"The tool failed inside ({_class_name(error)}). Reference: {reference}."
    return _failed(
        read, said("internal_error", "INTERNAL", about, message=text), "none" if read else "unknown"
    )


def _places(error: BaseException) -> str:
    """Return where the error came from, innermost last. Its text is left out: it may hold a secret."""
    frames = traceback.extract_tb(error.__traceback__, limit=-_LOGGED_FRAMES)
    return " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames) or "?"


def _told(error: Any, read: bool) -> Execution:
    """Turn what a tool says of its failure into an error of ours; what has the wrong type is left out."""
    kind = error.error_type if isinstance(error.error_type, str) else ""
    effect: Effect = "none" if read or (error.effect is None and kind in TURNED_AWAY) else "unknown"
    if error.effect in ("none", "happened"):
        effect = error.effect
    wait = error.retry_after_ms
    params = error.params if isinstance(error.params, dict) else None
    value = CallError(
        kind if kind in ERROR_TYPES else "upstream_error",
        error.code if isinstance(error.code, str) and _CODE.fullmatch(error.code) else "TOOL_FAILED",
        _text(error.message, MAX_TOOL_WORDS) or "The tool failed without saying why.",
        recoverable=kind in MENDED if error.recoverable is None else error.recoverable is True,
        suggested_fix=_text(error.suggested_fix, MAX_CODE_TEXT),
        retry_after_ms=wait if type(wait) is int and 0 <= wait < 2**31 else UNSET,
        said=OWN_WORDS if params is None else "",
        params={key: _text(str(one), MAX_CODE_TEXT) for key, one in (params or {}).items()},
    )
    return _failed(read, value, effect)


def _text(value: object, limit: int) -> str:
    return clean_text(redact(value[: 2 * limit]))[:limit] if isinstance(value, str) else ""


def _class_name(error: BaseException) -> str:
    """Return the name of the error's class if it is one: the tool chose it, and it is shown to a model."""
    name = type.__getattribute__(type(error), "__name__")
    return name if isinstance(name, str) and name.isidentifier() and len(name) <= 80 else "Exception"


def _failed(read: bool, error: CallError, effect: Effect) -> Execution:
    """A mutation whose fate is not known is UNCERTAIN; everything else FAILED.

    Nobody is told to make a call again that has taken effect, or may have.
    """
    again = error.recoverable and (read or effect == "none")
    shown = replace(error, effect="none" if read and effect == "unknown" else effect, recoverable=again)
    if effect == "happened":
        return Execution(Outcome("SUCCEEDED", error=shown))
    return Execution(Outcome("UNCERTAIN" if effect == "unknown" and not read else "FAILED", error=shown))


def _internal(message: str) -> CallError:
    return said("internal_error", "INTERNAL", message=message)


def _timed_out(timeout_s: float, read: bool) -> CallError:
    entry = "TOOL_TIMEOUT" if read else "TOOL_TIMEOUT/mutation"
    seconds = {"seconds": f"{timeout_s:.3g}"}  # what is left of the call's time, once its intent is written
    return said("timeout", "TOOL_TIMEOUT", seconds, entry=entry, recoverable=read)


def _too_many() -> CallError:
    return said("rate_limited", "TOO_MANY_LATE_CALLS", recoverable=True, retry_after_ms=5_000)
