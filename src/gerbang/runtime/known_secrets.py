"""The secrets that a gateway has fetched: whatever tool says one of them later, it is masked."""

from typing import Any, Final

from msgspec.structs import replace

from gerbang.audit.redact import redact_exact
from gerbang.ports import Secrets
from gerbang.runtime.guarded import Vault, without
from gerbang.runtime.output import Output, read_output
from gerbang.values import CallError
from gerbang.values.secret import MIN_SECRET_CHARS

_MOST: Final = 1_000
"""How many values are remembered; one that changes leaves its former ones behind. The oldest go first."""


class KnownSecrets:
    """Secrets that remember what they gave. Tools with secrets mask their own; this is for all others.

    A file tool that reads where a key is kept would hand it to the model otherwise.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._values: dict[str, None] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._secrets, name)

    @property
    def any(self) -> bool:
        """True when there is anything to mask."""
        return bool(self._values)

    def get(self, name: str) -> str | None:
        """Return the secret's value, and remember it. Values too short to be told apart are not masked."""
        value = self._secrets.get(name)
        if isinstance(value, str) and len(value) >= MIN_SECRET_CHARS and value not in self._values:
            self._values[value] = None
            while len(self._values) > _MOST:
                self._values.pop(next(iter(self._values)), None)
        return value

    def masked(self, output: Output) -> Output:
        """Return a tool's result without the values. The same object when there is nothing to mask."""
        values = tuple(self._values)
        if not values:
            return output
        text = output.text.decode()
        if redact_exact(text, values) == text:
            return output
        cleaned = read_output(without(output.value, self._vault()))
        return replace(cleaned, total=output.total) if isinstance(cleaned, Output) else Output(None, b"null")

    def masked_error(self, error: CallError) -> CallError:
        """Return what a tool says of its failure without the values."""
        if not self._values:
            return error
        mask = self._vault().mask
        return replace(
            error,
            error_code=error.error_code if mask(error.error_code) == error.error_code else "TOOL_FAILED",
            message=mask(error.message),
            suggested_fix=mask(error.suggested_fix),
            params={key: mask(one) if isinstance(one, str) else one for key, one in error.params.items()},
        )

    def _vault(self) -> Vault:
        return Vault({value: value for value in tuple(self._values)})
