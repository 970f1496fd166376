"""Sessions of the console: a signed cookie that names a key, and the token that every form carries.

The cookie holds no key. What it allows is looked up for each request, so a revoked key ends its sessions at
once and in every process. It is signed with a key made from the store's own, so it survives a restart.
"""

import base64
import hashlib
import hmac
import re
import secrets
from typing import Final

import msgspec
from msgspec import Struct

from gerbang.server.identity import LOCAL_CALLER, Authenticator, Caller

COOKIE: Final = "gerbang_console"
PATH: Final = "/console"
LIFETIME_S: Final = 12 * 3600
_FORM: Final = re.compile(r"([A-Za-z0-9_-]{1,1200})\.([0-9a-f]{64})")
_LABEL: Final = b"gerbang.console.1"


class Session(Struct, frozen=True, array_like=True):
    """What the cookie says. `key_id` is empty before somebody has signed in; `until` is in seconds since the
    epoch; `mark` tells sessions of one key apart.
    """

    key_id: str
    until: int
    mark: str


_DECODER: Final = msgspec.json.Decoder(Session)


class Sessions:
    """Makes and reads sessions. `secret` is the store's own key."""

    def __init__(self, secret: bytes) -> None:
        self._key = hmac.new(secret, _LABEL, hashlib.sha256).digest()

    def begin(self, key_id: str, now: float) -> Session:
        """Return a new session; its mark is 128 random bits."""
        return Session(key_id, int(now) + LIFETIME_S, secrets.token_hex(16))

    def text(self, session: Session) -> str:
        """Return the cookie's value."""
        said = base64.urlsafe_b64encode(msgspec.json.encode(session)).rstrip(b"=")
        return f"{said.decode()}.{self._sign(b'session', said)}"

    def read(self, text: str, now: float) -> Session | None:
        """Return the session of a cookie's value; None for one that is not ours, or too old."""
        form = _FORM.fullmatch(text)
        if form is None:
            return None
        said = form[1].encode()
        if not hmac.compare_digest(form[2], self._sign(b"session", said)):
            return None
        session = _DECODER.decode(base64.urlsafe_b64decode(said + b"=" * (-len(said) % 4)))
        return session if now < session.until else None

    def token(self, session: Session) -> str:
        """Return what the forms of a session carry; nobody else's page can know it."""
        return self._sign(b"form", msgspec.json.encode(session))

    def is_token(self, session: Session, given: str) -> bool:
        """Tell whether a form came from a page of this session."""
        return hmac.compare_digest(self.token(session).encode(), given.encode("utf-8", "replace"))

    def _sign(self, use: bytes, said: bytes) -> str:
        return hmac.new(self._key, use + b"\x00" + said, hashlib.sha256).hexdigest()


def caller_of(session: Session | None, authenticator: Authenticator) -> Caller | None:
    """Return who a session stands for now. Where nobody has to say who they are, it is the local person."""
    if authenticator.open_to_all:
        return LOCAL_CALLER
    if session is None or not session.key_id:
        return None
    return authenticator.returning(session.key_id)


def cookies(header: str | None) -> dict[str, str]:
    """Return the cookies of a request. Values are taken as they are; of two with one name, the first."""
    found: dict[str, str] = {}
    for part in (header or "").split(";"):
        name, equals, value = part.strip().partition("=")
        if equals and name not in found:
            found[name] = value
    return found


def set_cookie(name: str, value: str, *, secure: bool, seconds: int = LIFETIME_S) -> str:
    """Return the header that sets a cookie for the console's own pages; `seconds` 0 removes it."""
    safe = "; Secure" if secure else ""
    return f"{name}={value}; Path={PATH}; Max-Age={seconds}; HttpOnly; SameSite=Strict{safe}"
