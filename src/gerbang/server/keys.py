"""API keys in a file that only its owner can read: made, listed, revoked, and checked for every request.

The file is looked at again and again, so what one process revokes holds in all of them within a
millisecond. A key is
256 random bits: it cannot be guessed, so a salted HMAC is enough and costs a request no slow derivation.
"""

import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gerbang.adapters.secrets.private_file import Mark, mark_of, only_writer, read_private, replace_private
from gerbang.errors import ConfigError, UsageError
from gerbang.server.identity import LOCAL_CALLER, RIGHTS, Caller
from gerbang.values import LOCAL, Principal

PREFIX: Final = "gbk"
_FORM: Final = re.compile(rb"gbk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_MAX_REMEMBERED: Final = 10_000
_FRESH_S: Final = 0.001
"""Under load the file is looked at once in this time, in seconds."""
_NONE: Final[Mark] = (0, 0, 0, 0)
_MAX_KEYS: Final = 10_000


class StoredKey(Struct, frozen=True, forbid_unknown_fields=True):
    """One key as it is stored: never the key, only its salted hash. Times are seconds since the epoch."""

    id: str
    salt: str
    hash: str
    user: str
    tenant: str
    rights: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    agent: str | None = None
    note: str = ""
    rate_per_s: float | None = None
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None

    def alive(self, now: float) -> bool:
        """Tell whether the key opens anything at this time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def caller(self) -> Caller:
        """Return who calls with this key."""
        principal = Principal(self.user, self.tenant, self.scopes, self.roles, self.agent)
        return Caller(principal, frozenset(self.rights), self.id, True, self.rate_per_s)


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    keys: tuple[StoredKey, ...]


class KeyFile:
    """The keys of a file, which need not exist yet. Several processes may use one file at once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        self._name = str(self.path)
        self._mark: Mark | None = None
        self._fresh_until = 0.0
        self._keys: dict[str, StoredKey] = {}
        self._known: dict[bytes, StoredKey] = {}

    @property
    def open_to_all(self) -> bool:
        """True when no key was ever made here. A file whose keys are all revoked lets nobody in."""
        return not self._current()

    async def authenticate(self, headers: Mapping[bytes, bytes]) -> Caller | None:
        """Return who the `Authorization: Bearer` or `X-API-Key` header proves to call."""
        keys = self._current()
        if not keys:
            return LOCAL_CALLER
        token = token_of(headers)
        if token is None:
            return None
        stored = self._find(keys, token)
        return stored.caller() if stored is not None and stored.alive(time.time()) else None

    def principals(self, user: str, tenant: str) -> list[Principal]:
        """Return the principals of the user's keys that are alive, the newest key's first."""
        keys = self._current()
        if not keys:
            return [LOCAL] if (user, tenant) == (LOCAL.user, LOCAL.tenant) else []
        now = time.time()
        theirs = [key for key in keys.values() if (key.user, key.tenant) == (user, tenant) and key.alive(now)]
        theirs.sort(key=lambda key: key.created_at, reverse=True)
        return [key.caller().principal for key in theirs]

    def returning(self, key_id: str) -> Caller | None:
        """Return the caller of a key that was shown before, None when it opens nothing any more."""
        keys = self._current()
        if not keys:
            return LOCAL_CALLER if key_id == LOCAL_CALLER.key_id else None
        stored = keys.get(key_id)
        return stored.caller() if stored is not None and stored.alive(time.time()) else None

    def all(self) -> list[StoredKey]:
        """Return all keys, the revoked ones too, in the order in which they were made."""
        return [*self._current().values()]

    def create(
        self,
        *,
        user: str,
        tenant: str,
        rights: Iterable[str],
        scopes: Iterable[str] = (),
        roles: Iterable[str] = (),
        agent: str | None = None,
        note: str = "",
        rate_per_s: float | None = None,
        ttl_s: float | None = None,
    ) -> tuple[StoredKey, str]:
        """Make a key and return it with its text, which is shown once and stored nowhere.

        Raises UsageError for names that cannot be recorded and rights that do not exist.
        """
        wanted = tuple(sorted(set(rights)))
        unknown = [right for right in wanted if right not in RIGHTS]
        if unknown or not wanted:
            raise UsageError(
                f"A key has rights of: {', '.join(RIGHTS)}. Not: {', '.join(unknown) or 'none'}."
            )
        names = {"user": user, "tenant": tenant, "agent": agent, "note": note or None}
        named = [(label, value) for label, value in names.items() if value is not None]
        named += [("scope", value) for value in scopes] + [("role", value) for value in roles]
        for label, value in named:
            if not _NAME.fullmatch(value):
                raise UsageError(f"The {label} is a text of 1 to 200 characters without control characters.")
        identity, secret, salt = secrets.token_hex(6), secrets.token_urlsafe(32), secrets.token_hex(16)
        now = time.time()
        key = StoredKey(
            id=identity,
            salt=salt,
            hash=_hash(salt, secret.encode()),
            user=user,
            tenant=tenant,
            rights=wanted,
            scopes=tuple(sorted(set(scopes))),
            roles=tuple(sorted(set(roles))),
            agent=agent,
            note=note,
            rate_per_s=rate_per_s,
            created_at=now,
            expires_at=None if ttl_s is None else now + ttl_s,
        )
        with only_writer(self.path):
            keys = self._fresh()
            if len(keys) >= _MAX_KEYS:
                raise UsageError(f"{self.path} holds {_MAX_KEYS} keys. Use another file.")
            self._write([*keys.values(), key])
        return key, f"{PREFIX}_{identity}_{secret}"

    def revoke(self, key_id: str) -> StoredKey:
        """Revoke a key, at once in every process. Raises UsageError when there is none of that id."""
        with only_writer(self.path):
            keys = self._fresh()
            found = keys.get(key_id.removeprefix(f"{PREFIX}_"))
            if found is None:
                raise UsageError(f"There is no key {key_id[:40]!r} in {self.path}. See: gerbang keys list")
            if found.revoked_at is None:
                found = replace(found, revoked_at=time.time())
                keys[found.id] = found
                self._write(list(keys.values()))
        return found

    def _find(self, keys: dict[str, StoredKey], token: bytes) -> StoredKey | None:
        digest = hashlib.sha256(token).digest()
        known = self._known.get(digest)
        if known is not None:
            return known
        form = _FORM.fullmatch(token)
        stored = None if form is None else keys.get(form[1].decode())
        if form is None or stored is None:
            return None
        if not hmac.compare_digest(_hash(stored.salt, form[2]), stored.hash):
            return None
        if len(self._known) >= _MAX_REMEMBERED:
            self._known.clear()
        self._known[digest] = stored
        return stored

    def _current(self) -> dict[str, StoredKey]:
        """Return the keys as the file has them now, or had them a millisecond ago."""
        at = time.monotonic()
        if at < self._fresh_until:
            return self._keys
        self._fresh_until = 0.0
        try:
            found = os.stat(self._name)
            mark = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        except OSError:
            mark = _NONE
        if mark != self._mark:
            self._keys = self._fresh()
            self._known = {}
            self._mark = mark
        self._fresh_until = at + _FRESH_S
        return self._keys

    def _fresh(self) -> dict[str, StoredKey]:
        if mark_of(self.path) is None:
            if self._keys:
                raise ConfigError(f"The key file {self.path} is gone. Put it back, or restart without it.")
            return {}
        data = read_private(self.path, "key file")
        try:
            read = msgspec.json.decode(data, type=_File)
        except msgspec.MsgspecError:
            raise ConfigError(f"The key file {self.path} is damaged. Restore it from a copy.") from None
        if read.version != 1:
            raise ConfigError(f"The key file {self.path} was written by a newer version. Update Gerbang.")
        return {key.id: key for key in read.keys}

    def _write(self, keys: list[StoredKey]) -> None:
        replace_private(self.path, msgspec.json.encode(_File(1, tuple(keys))))
        self._fresh_until = 0.0  # what was written here counts here at once


def token_of(headers: Mapping[bytes, bytes]) -> bytes | None:
    """Return the key that the headers carry: Bearer, X-API-Key, or a WebSocket subprotocol."""
    given = headers.get(b"authorization")
    if given is not None:
        kind, _, token = given.partition(b" ")
        return token.strip() if kind.lower() == b"bearer" else None
    given = headers.get(b"x-api-key")
    if given is not None:
        return given.strip()
    for offered in headers.get(b"sec-websocket-protocol", b"").split(b","):
        if offered.strip().startswith(SUBPROTOCOL_KEY):
            return offered.strip()[len(SUBPROTOCOL_KEY) :]
    return None


SUBPROTOCOL_KEY: Final = b"gerbang.key."
"""A browser cannot set headers of a WebSocket: it offers `gerbang` and `gerbang.key.KEY` as subprotocols."""


def _hash(salt: str, secret: bytes) -> str:
    return hmac.new(bytes.fromhex(salt), secret, hashlib.sha256).hexdigest()
