"""Secrets from the variables of this process."""

import os
from collections.abc import Mapping

from gerbang.errors import UsageError

_ELSEWHERE = (
    "Set the variable where the program is started, or name a store that can be written: "
    "--secrets file:PATH or --secrets keyring:"
)


class EnvironmentSecrets:
    """Reads `environ`, usually `os.environ`, each time it is asked. Cannot list or write."""

    immediate = True
    address = "env:"
    writable = False

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ

    def __repr__(self) -> str:
        return "<secrets of env:>"

    def get(self, name: str) -> str | None:
        """Return the variable's value, or None when it is unset or empty."""
        return self._environ.get(name) or None

    def unlock(self) -> None:
        """Do nothing: there is nothing to open."""

    def names(self) -> list[str]:
        """Raise UsageError: nothing tells which variables are secrets."""
        raise UsageError(f"The environment does not say which variables are secrets. {_ELSEWHERE}")

    def set(self, name: str, value: str) -> None:
        """Raise UsageError: a process cannot set the variables that the next one starts with."""
        raise UsageError(f"Secrets in the environment cannot be set from here. {_ELSEWHERE}")

    def remove(self, name: str) -> bool:
        """Raise UsageError, like `set`."""
        raise UsageError(f"Secrets in the environment cannot be removed from here. {_ELSEWHERE}")
