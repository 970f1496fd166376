"""Secrets in the keyring of the operating system, by the library `keyring`.

The library cannot list, so the names are kept in one more entry of the keyring.
"""

import os
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import orjson

from gerbang.adapters.secrets.private_file import only_writer
from gerbang.errors import ConfigError
from gerbang.values.secret import check_secret

SERVICE: Final = "gerbang"
_INDEX: Final = "names of secrets"  # no secret can have this name: it has spaces


class KeyringSecrets:
    """Entries of the service `gerbang` in the keyring that the library chooses. Loaded when first asked."""

    immediate = False
    writable = True
    address = "keyring:"

    def __init__(self) -> None:
        self._library: ModuleType | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "<secrets of keyring:>"

    def get(self, name: str) -> str | None:
        """Return a value, or None. Raises ConfigError when there is no keyring or it stays locked."""
        return self._ask("get_password", name) or None

    def unlock(self) -> None:
        """Ask the keyring for something, so that it can ask to be unlocked. Raises ConfigError."""
        self._ask("get_password", _INDEX)

    def names(self) -> list[str]:
        """Return the names that were set by Gerbang, sorted. Raises ConfigError."""
        raw = self._ask("get_password", _INDEX)
        try:
            names = orjson.loads(raw) if raw else []
            return sorted(str(name) for name in names)
        except (ValueError, TypeError):
            raise ConfigError(
                f"The entry {_INDEX!r} of {SERVICE!r} in the keyring is damaged. Remove it there."
            ) from None

    def set(self, name: str, value: str) -> None:
        """Set a value. Raises UsageError, ConfigError."""
        check_secret(name, value)
        with self._lock, only_writer(_lock_path()):
            names = set(self.names())
            self._ask("set_password", name, value)
            if self._ask("get_password", name) != value:
                raise ConfigError(
                    "The keyring did not keep the value. Use an encrypted file: --secrets file:PATH"
                )
            if name not in names:
                self._ask("set_password", _INDEX, orjson.dumps(sorted(names | {name})).decode())

    def remove(self, name: str) -> bool:
        """Remove a value; False when there is none of that name. Raises ConfigError."""
        check_secret(name)
        with self._lock, only_writer(_lock_path()):
            names = set(self.names())
            found = self._ask("get_password", name) is not None
            if found:
                self._ask("delete_password", name)
            if name in names:
                self._ask("set_password", _INDEX, orjson.dumps(sorted(names - {name})).decode())
            return found or name in names

    def _ask(self, method: str, *arguments: str) -> str | None:
        backend: Any = self._backend()
        try:
            answer: str | None = getattr(backend, method)(SERVICE, *arguments)
        except Exception as error:  # each backend raises what its system's library raises, maybe with values
            kind = type(error).__name__
        else:
            return answer
        raise ConfigError(
            f"The keyring refused ({kind}). Unlock it, or use an encrypted file: --secrets file:PATH"
        )

    def _backend(self) -> Any:
        if self._library is None:
            import keyring

            self._library = keyring
        backend = self._library.get_keyring()
        where = f"{type(backend).__module__}.{type(backend).__name__}"
        if where.startswith(("keyring.backends.fail.", "keyring.backends.null.")):
            raise ConfigError(
                "This machine has no keyring that can be used. Use an encrypted file: --secrets file:PATH"
            )
        if "Plaintext" in where:
            raise ConfigError(
                "The keyring of this machine keeps values unencrypted. Use an encrypted file: "
                "--secrets file:PATH"
            )
        return backend


def _lock_path() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(state) / "gerbang" / "keyring"
