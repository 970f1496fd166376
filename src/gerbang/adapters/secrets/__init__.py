"""Where secrets are kept. `open_secrets` takes an address, or several with commas between::

    env:                variables of this process
    file:PATH           an encrypted file (extra `secrets`)
    keyring:            the keyring of the operating system (extra `secrets`)
    envfile:PATH        a file of KEY=VALUE lines that only its owner can read

Of several, the first that has a value gives it; `set` and `rm` go to the first that can be written.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gerbang.adapters.extras import install_line
from gerbang.adapters.secrets.environment import EnvironmentSecrets
from gerbang.errors import ConfigError
from gerbang.ports import AskPassphrase, SecretStore

KINDS: Final = ("env:", "file:PATH", "keyring:", "envfile:PATH")
PASSPHRASE_VARIABLE: Final = "GERBANG_SECRETS_PASSPHRASE"  # noqa: S105 (a name, not a passphrase)
KEY_FILE_VARIABLE: Final = "GERBANG_SECRETS_KEY_FILE"


def open_secrets(
    address: str = "env:",
    *,
    environ: Mapping[str, str] = os.environ,
    ask: AskPassphrase | None = None,
) -> SecretStore:
    """Return the store at an address. Nothing is read yet: a file is opened when a secret is asked for.

    An encrypted file is opened with the key file that `GERBANG_SECRETS_KEY_FILE` names, or the passphrase
    in `GERBANG_SECRETS_PASSPHRASE` (both are looked up in `environ` now), or what `ask` returns.
    Raises ConfigError for an address that names nothing, or an extra that is not installed.
    """
    parts = [part.strip() for part in address.split(",")]
    stores = [_open(part, environ, ask) for part in parts]
    if len(stores) == 1:
        return stores[0]
    from gerbang.adapters.secrets.chain import ChainSecrets

    return ChainSecrets(stores)


def _open(address: str, environ: Mapping[str, str], ask: AskPassphrase | None) -> SecretStore:
    kind, colon, rest = address.partition(":")
    if not colon or kind not in ("env", "file", "keyring", "envfile"):
        raise ConfigError(
            f"{address[:200]!r} is no address of secrets. Write one of: {', '.join(KINDS)}, or several "
            "with commas between."
        )
    if (kind in ("file", "envfile")) != bool(rest):
        said = "needs a path" if not rest else "takes nothing"
        raise ConfigError(f"The address `{kind}:` {said} after the colon; found {address[:200]!r}.")
    if kind == "env":
        return EnvironmentSecrets(environ)
    if kind == "envfile":
        from gerbang.adapters.secrets.env_file import EnvFileSecrets

        return EnvFileSecrets(Path(rest).expanduser())
    if kind == "keyring":
        _need("keyring", "keyring:")
        from gerbang.adapters.secrets.keyring_store import KeyringSecrets

        return KeyringSecrets()
    _need("cryptography", "file:")
    from gerbang.adapters.secrets.encrypted_file import EncryptedFileSecrets

    key_file = environ.get(KEY_FILE_VARIABLE)
    return EncryptedFileSecrets(
        Path(rest).expanduser(),
        passphrase=environ.get(PASSPHRASE_VARIABLE) or None,
        key_file=Path(key_file).expanduser() if key_file else None,
        ask=ask,
    )


def _need(library: str, kind: str) -> None:
    if find_spec(library) is None:
        raise ConfigError(
            f"Secrets in {kind} need the library {library}. Install it with: {install_line('secrets')}"
        )
