"""Tools that need secrets: values go in just before the body runs, and are masked in what comes out.

Only tools whose contract names secrets are wrapped; all others run as they are.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from gerbang.audit.redact import MASK, redact_exact
from gerbang.errors import NotSent, ToolError
from gerbang.ports import Secrets, Tool
from gerbang.runtime.broken_links import fault_in, plain
from gerbang.runtime.output import read_output
from gerbang.runtime.threads import SyncPool, TooManyLate
from gerbang.values import CallContext, Contract
from gerbang.values.binding import Bindings
from gerbang.values.call import secret_missing
from gerbang.values.secret import MIN_SECRET_CHARS

_NOT_SHOWN: Final = "not shown: the tool has secrets"


class Vault:
    """The secrets of one call. Shows itself without them, and can be neither copied nor written."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def get(self, name: str) -> str | None:
        """Return one value."""
        return self._values.get(name)

    def mask(self, text: str) -> str:
        """Return the text with the values masked in every common writing."""
        return redact_exact(text, self._values.values())

    def __repr__(self) -> str:
        return f"<{len(self._values)} secrets>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Secrets cannot be copied or stored.")


class SecretContext(CallContext, frozen=True, gc=False, kw_only=True):
    """The context of a call whose contract names secrets."""

    vault: Vault

    def secret(self, name: str) -> str:
        """Return the value of a secret that the contract names. Raises ToolError SECRET_MISSING."""
        value = self.vault.get(name)
        if value is None:
            raise secret_missing(name)
        return value


class GuardedTool:
    """A tool with its secrets. What it returns or raises leaves here with their values masked.

    The secrets are fetched for each call; when one has no value, the body does not run. `bindings` say what
    each secret is for: then one that is not named there is for nobody. `origin` is where the tool sends to.
    """

    def __init__(
        self,
        tool: Tool,
        contract: Contract,
        secrets: Secrets,
        pool: SyncPool,
        bindings: Bindings | None = None,
        origin: str | None = None,
    ) -> None:
        self._tool = tool
        self._contract = contract.name
        self._names = contract.secrets
        self._bindings = bindings
        self._origin = origin
        self._secrets = secrets
        self._pool = pool
        self.blocking = tool.blocking
        self.previewer = getattr(tool, "previewer", None)  # without secrets: nothing is sent

    async def invoke(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Run a coroutine tool. A keyring or a locked file may take its time: it is asked in a thread."""
        self._check(context)
        vault = await self._fetched()
        masking = _Masking(vault)
        with masking:
            return _masked(await self._tool.invoke(arguments, _with(context, vault)), vault)
        raise masking.failure

    def invoke_sync(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Run a blocking tool. Called in a worker thread."""
        self._check(context)
        vault = _fetch(self._secrets, self._names)
        masking = _Masking(vault)
        with masking:
            return _masked(self._tool.invoke_sync(arguments, _with(context, vault)), vault)
        raise masking.failure

    def _check(self, context: CallContext) -> None:
        """Refuse a call that a secret is not bound to, before its value is fetched. Raises ToolError."""
        if self._bindings is None:
            return
        who = context.principal
        for name in self._names:
            binding = self._bindings.get(name)
            if binding is None or not binding.fits(
                tenant=who.tenant, user=who.user, tool=self._contract, origin=self._origin
            ):
                raise _not_bound(name)

    async def _fetched(self) -> Vault:
        if getattr(self._secrets, "immediate", False):
            return _fetch(self._secrets, self._names)
        try:
            work = self._pool.submit(lambda: _fetch(self._secrets, self._names))
        except TooManyLate:
            raise _unavailable(self._names[0]) from None
        try:
            vault: Vault = await asyncio.shield(work)
        except asyncio.CancelledError:
            self._pool.abandon(work)
            raise
        return vault


def _fetch(secrets: Secrets, names: Iterable[str]) -> Vault:
    """Get the values. Raises ToolError; nothing has run then, and no text of the store is passed on."""
    values: dict[str, str] = {}
    for name in names:
        failed, value = False, None
        try:
            value = secrets.get(name)
        except Exception:  # somebody else's store may raise anything, with anything in its text
            failed = True
        if failed or not (value is None or isinstance(value, str)):
            raise _unavailable(name)
        if not value:
            raise _no_value(name)
        if len(value) < MIN_SECRET_CHARS:
            raise _too_short(name)
        values[name] = value
    return Vault(values)


def _with(context: CallContext, vault: Vault) -> SecretContext:
    return SecretContext(
        principal=context.principal,
        run_id=context.run_id,
        step_id=context.step_id,
        call_id=context.call_id,
        idempotency_key=context.idempotency_key,
        purpose=context.purpose,
        clearance=context.clearance,
        vault=vault,
    )


def _masked(returned: Any, vault: Vault) -> Any:
    """Return a result as plain data without the secrets. What has no JSON is the executor's to refuse."""
    if isinstance(returned, str):
        return vault.mask(returned)  # before it is cut to the size that is stored
    output = read_output(returned)
    return returned if isinstance(output, str) else without(output.value, vault)


def without(value: Any, vault: Vault) -> Any:
    """Return a JSON value with its texts and names masked, and numbers that are a secret."""
    if isinstance(value, str):
        return vault.mask(value)
    if isinstance(value, dict):
        return {vault.mask(name): without(item, vault) for name, item in value.items()}
    if isinstance(value, list):
        return [without(item, vault) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return MASK if vault.mask(str(value)) != str(value) else value
    return value


class _Masking:
    """Takes the place of what the block raises. The original is let go: its text may quote a secret."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self.failure: Exception = RuntimeError()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):  # nothing, a cancellation, or the end of the program
            return False
        self.failure = _masked_error(error, self._vault)
        return True


def _masked_error(error: Exception, vault: Vault) -> Exception:
    """Return the error without the secrets. Of what is no ToolError only the kind is kept, and what it says
    of a connection.
    """
    if isinstance(error, NotSent):  # ours
        return error
    if not isinstance(error, ToolError):
        fault = fault_in(error)
        if fault is not None:
            return plain(fault, _NOT_SHOWN)
        kind: type[RuntimeError] = type(vault.mask(type(error).__name__), (RuntimeError,), {})
        return kind(_NOT_SHOWN)
    masked = ToolError(
        vault.mask(error.message),
        code=vault.mask(error.code),
        error_type=error.error_type,
        recoverable=error.recoverable,
        suggested_fix=vault.mask(error.suggested_fix),
        effect=error.effect,
        retry_after_ms=error.retry_after_ms,
    )
    if isinstance(error.params, dict):
        masked.params = {key: vault.mask(str(value)) for key, value in error.params.items()}
    return masked


def _refused(name: str, message: str, code: str, fix: str) -> ToolError:
    error = ToolError(message, code=code, error_type="permission_denied", suggested_fix=fix, effect="none")
    error.params = {"name": name}
    return error


def _no_value(name: str) -> ToolError:
    return _refused(
        name,
        f"The secret {name} has no value, so nothing was run. Somebody who runs Gerbang has to set it: "
        f"as the environment variable {name}, or with `gerbang secrets set {name} --secrets file:PATH`.",
        "SECRET_MISSING",
        "Tell the user which secret is missing; never ask them for its value.",
    )


def _not_bound(name: str) -> ToolError:
    return _refused(
        name,
        f"The secret {name} is not for this call: it is bound to other tenants, users, tools or origins. "
        "Nothing was run.",
        "SECRET_NOT_BOUND",
        "Tell the user; somebody who runs Gerbang decides what the secret is bound to.",
    )


def _too_short(name: str) -> ToolError:
    return _refused(
        name,
        f"The value of the secret {name} is shorter than {MIN_SECRET_CHARS} characters. It could not be kept "
        "out of results, so nothing was run.",
        "SECRET_TOO_SHORT",
        "Tell the user that the secret needs another value.",
    )


def _unavailable(name: str) -> ToolError:
    return _refused(
        name,
        f"The store of secrets could not be read for {name}, so nothing was run.",
        "SECRETS_UNAVAILABLE",
        "Tell the user to check the store with `gerbang secrets list --secrets ADDRESS`.",
    )
