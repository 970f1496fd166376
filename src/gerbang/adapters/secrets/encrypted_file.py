"""Secrets in one encrypted file. The form of the file is in `gerbang.adapters.secrets.sealed`."""

import threading
from pathlib import Path
from typing import Final

from gerbang.adapters.secrets.private_file import Mark, mark_of, only_writer, read_private, replace_private
from gerbang.adapters.secrets.sealed import SCRYPT_COST, Damaged, Keys, WrongKey, new_keys, seal, unseal
from gerbang.errors import ConfigError
from gerbang.ports import AskPassphrase
from gerbang.values.secret import check_secret

_MIN_KEY_BYTES: Final = 32
_MIN_PASSPHRASE: Final = 8


class EncryptedFileSecrets:
    """A file of mode 0600 that a passphrase or a key file opens.

    `key_file` beats `passphrase`, which beats `ask`. `cost` is the logarithm of scrypt's N for a new file.
    Reading derives the key once; a file that another process has changed is read again. Writers take
    turns, and the file is replaced whole. Safe to use from several threads.
    """

    immediate = False
    writable = True

    def __init__(
        self,
        path: Path,
        *,
        passphrase: str | None = None,
        key_file: Path | None = None,
        ask: AskPassphrase | None = None,
        cost: int = SCRYPT_COST,
    ) -> None:
        self._path = path
        self._passphrase = passphrase
        self._key_file = key_file
        self._ask = ask
        self._cost = cost
        self._lock = threading.Lock()
        self._mark: Mark | None = None
        self._keys: Keys | None = None
        self._values: dict[str, str] = {}
        self.address = f"file:{path}"

    def __repr__(self) -> str:
        return f"<secrets of {self.address}>"

    def get(self, name: str) -> str | None:
        """Return a value, or None. Raises ConfigError: no file, wrong passphrase, changed file."""
        return self._load().get(name)

    def unlock(self) -> None:
        """Open the file now, where there is one; the passphrase may be asked for. Raises ConfigError."""
        if mark_of(self._path) is not None:
            self._load()

    def names(self) -> list[str]:
        """Return the names, sorted. Raises ConfigError."""
        return sorted(self._load())

    def set(self, name: str, value: str) -> None:
        """Set a value; the first one makes the file. Raises UsageError, ConfigError."""
        check_secret(name, value)
        with only_writer(self._path), self._lock:
            values = self._read()
            self._write({**values, name: value})

    def remove(self, name: str) -> bool:
        """Remove a value; False when there is none of that name. Raises ConfigError."""
        if mark_of(self._path) is None:
            raise self._missing()
        with only_writer(self._path), self._lock:
            values = dict(self._read())
            if values.pop(name, None) is None:
                return False
            self._write(values)
            return True

    def _load(self) -> dict[str, str]:
        mark = mark_of(self._path)
        if mark is None:
            raise self._missing()
        with self._lock:
            return self._values if mark == self._mark else self._read()

    def _read(self) -> dict[str, str]:
        """Read the file, or nothing where there is none yet. The lock is held."""
        mark = mark_of(self._path)
        if mark is None:
            self._keys, self._mark, self._values = None, None, {}
            return {}
        raw = read_private(self._path, "file of secrets")
        kdf, material = self._material(new=False)
        try:
            self._values, self._keys = unseal(raw, material, kdf, self._keys)
        except WrongKey:
            self._passphrase = self._passphrase if self._ask is None else None
            with_what = "passphrase" if kdf == "scrypt" else "key file"
            raise ConfigError(
                f"The {with_what} does not open {self._path}: it is not the one that the file was written "
                "with. Give the right one; without it the values cannot be read by anybody."
            ) from None
        except Damaged:
            raise ConfigError(
                f"The file of secrets {self._path} is damaged or was changed by something else than Gerbang. "
                "Nothing of it is used. Restore it from a backup, or remove it and set the secrets anew."
            ) from None
        self._mark = mark
        return self._values

    def _write(self, values: dict[str, str]) -> None:
        if self._keys is None:
            kdf, material = self._material(new=True)
            self._keys = new_keys(material, kdf, self._cost)
        replace_private(self._path, seal(values, self._keys))
        self._values, self._mark = values, mark_of(self._path)

    def _material(self, *, new: bool) -> tuple[str, bytes]:
        """Return the kind of derivation and what it starts from. Raises ConfigError."""
        if self._key_file is not None:
            key = read_private(self._key_file, "key file")
            if len(key) < _MIN_KEY_BYTES:
                raise ConfigError(
                    f"The key file {self._key_file} holds {len(key)} bytes; it needs {_MIN_KEY_BYTES} random "
                    f"ones. Make one with: head -c {_MIN_KEY_BYTES} /dev/urandom"
                )
            return "hkdf-sha256", key
        if self._passphrase is None and self._ask is not None:
            self._passphrase = self._ask(self._path, new)
        if not self._passphrase:
            raise ConfigError(
                f"The file of secrets {self._path} needs its passphrase. Set GERBANG_SECRETS_PASSPHRASE, or "
                "GERBANG_SECRETS_KEY_FILE for a key file, or run this at a terminal."
            )
        if new and len(self._passphrase) < _MIN_PASSPHRASE:
            self._passphrase = self._passphrase if self._ask is None else None
            raise ConfigError(
                f"The passphrase for {self._path} is shorter than {_MIN_PASSPHRASE} characters. Choose a "
                "longer one."
            )
        return "scrypt", self._passphrase.encode("utf-8", "surrogateescape")

    def _missing(self) -> ConfigError:
        return ConfigError(
            f"There is no file of secrets {self._path}. Make it with: "
            f"gerbang secrets set NAME --secrets {self.address}"
        )
