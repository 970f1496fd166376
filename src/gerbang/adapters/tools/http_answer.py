"""The body of an answer: read up to a cap, unpacked up to the same cap, and turned into a JSON value."""

import base64
import codecs
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gerbang.audit.redact import longest_writing, redact_exact

if TYPE_CHECKING:
    import aiohttp
    from multidict import CIMultiDictProxy

CUT: Final = "… [truncated]"
"""Ends a text whose rest was not read."""
_PACKED_MARGIN: Final = 65_536  # what packs to more than it is would be read for ever
_MAX_MEMBERS: Final = 256
_BASE64_BYTES: Final = 6_000
_TEXTS: Final = ("json", "xml", "javascript", "x-www-form-urlencoded", "yaml", "csv", "graphql", "toml")
_CHARSETS: Final = (
    *("ascii", "utf-8", "utf-16", "utf-32", "iso8859", "cp125", "cp437", "cp850", "cp866", "cp874", "cp932"),
    *("cp949", "shift_jis", "euc_", "iso2022", "gb2312", "gbk", "gb18030", "big5", "koi8", "mac-", "tis-620"),
)
_SAMPLE: Final = 4_096
_CONTROLS: Final = dict.fromkeys({*range(32), *range(0x7F, 0xA0)} - set(b"\t\n\r\f\x1b"))
"""Characters that no text has many of: what is packed, and not said to be, has."""
_TOLD_HEADERS: Final = (
    *("allow", "content-length", "content-type", "etag", "last-modified", "link", "location", "retry-after"),
)


class BrokenBody(Exception):
    """The body came whole and cannot be unpacked. `str()` says why."""


class Body(Struct, frozen=True):
    """What was read of a body. `whole` is False when it was cut at the cap."""

    data: bytes
    whole: bool


async def read_body(content: "aiohttp.StreamReader", encoding: str, cap: int) -> Body:
    """Read and unpack at most `cap` bytes; the rest stays unread. Raises BrokenBody and aiohttp's errors.

    Neither a large answer nor a small one that unpacks to a large one takes more than the cap.
    """
    unpack = _unpacker(encoding)
    parts: list[bytes] = []
    left, packed = cap, 0
    while chunk := await content.readany():
        packed += len(chunk)
        data, more = unpack(chunk, left + 1)
        parts.append(data[:left])
        if more or len(data) > left or packed > cap + _PACKED_MARGIN:
            return Body(b"".join(parts), False)
        left -= len(data)
    data, more = unpack(b"", left + 1)
    parts.append(data[:left])
    return Body(b"".join(parts), not more and len(data) <= left)


class Veil(Struct, frozen=True):
    """Masks the secrets of a call in what came back, before anything is cut away."""

    secrets: tuple[str, ...] = ()

    def over(self, text: str, whole: bool = True) -> str:
        """Return the text without the secrets; of one that was cut, also without half a secret at its end."""
        masked = redact_exact(text, self.secrets) if self.secrets else text
        margin = 0 if whole else longest_writing(self.secrets)
        return masked[: max(0, len(masked) - margin)]


def text_of(body: Body, content_type: str, charset: str | None, veil: Veil) -> str | None:
    """Return the body as text, or None when it is none."""
    if not body.data:
        return ""
    kind = content_type.lower()
    text = _decoded(body, charset)
    if kind.startswith("text/") or any(word in kind for word in _TEXTS):
        text = body.data.decode("utf-8", "replace") if text is None else text
        if _is_noise(text):
            return None
    elif text is None or "\0" in text:
        return None
    return veil.over(text.removeprefix("\ufeff"), body.whole)


def _is_noise(text: str) -> bool:
    """Tell whether what calls itself a text is none: packed without saying so, or of an unknown charset."""
    sample = text[:_SAMPLE]
    controls, lost = len(sample) - len(sample.translate(_CONTROLS)), sample.count("\ufffd")
    return 2 * lost > len(sample) or (controls > 0 and 10 * (controls + lost) > len(sample))


def packing(headers: "CIMultiDictProxy[str]") -> str:
    """Return how a body is packed: all that its headers say of it, in one text."""
    return ", ".join(headers.getall("Content-Encoding", ()))


def value_of(status: int, headers: Mapping[str, str], body: Body, charset: str | None, veil: Veil) -> Any:
    """Return what the tool gives back: parsed JSON, a text, or facts about an empty or binary body."""
    content_type = headers.get("Content-Type", "").partition(";")[0].strip()
    if not body.data:
        told = {name: veil.over(headers[name]) for name in _TOLD_HEADERS if name in headers}
        return {"status": status, "headers": told}
    text = text_of(body, content_type, charset, veil)
    if text is None:
        return _binary(body, veil.over(content_type))
    if not body.whole:
        return text + CUT
    return _json(text) if "json" in content_type.lower() else text


def _json(text: str) -> Any:
    """Return the parsed value, or the text as it is when it is no JSON that can be kept."""
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:  # half surrogate pairs are JSON, and can be written nowhere
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text
    return value


def _refuse(word: str) -> None:
    raise ValueError(word)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def _binary(body: Body, content_type: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"content_type": content_type or "unknown", "bytes": len(body.data)}
    if not body.whole:
        return {**facts, "truncated": True}
    facts["sha256"] = hashlib.sha256(body.data).hexdigest()
    if len(body.data) <= _BASE64_BYTES:
        facts["base64"] = base64.b64encode(body.data).decode()
    return facts


def _decoded(body: Body, charset: str | None) -> str | None:
    """Return the text by the charset that was named, else as UTF-8. None when it is not that."""
    if charset:
        try:
            name = codecs.lookup(charset).name
        except LookupError:
            name = ""
        if name.startswith(_CHARSETS) and name != "utf-8":  # others are no charsets, or not for the outside
            return body.data.decode(name, "replace")
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(body.data, body.whole)
    except UnicodeDecodeError:
        return None


_Unpack = Callable[[bytes, int], tuple[bytes, bool]]


def _unpacker(encoding: str) -> _Unpack:
    """Return a function of packed bytes and a limit: the unpacked ones, and whether there would be more."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda chunk, _: (chunk, False)
    if name in ("gzip", "x-gzip"):
        return _Inflate(zlib.MAX_WBITS | 16)
    if name == "deflate":
        return _Inflate(0)
    raise BrokenBody(f"the answer is packed as {name[:40]!r}, which was not asked for")


class _Inflate:
    """Unpacks gzip, or deflate with and without its header, never more than it is allowed to."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inflate: Any = zlib.decompressobj(bits) if bits else None
        self._head = b""
        self._fed = False
        self._members = 0

    def __call__(self, chunk: bytes, limit: int) -> tuple[bytes, bool]:
        ended, self._fed = not chunk, self._fed or bool(chunk)
        if self._inflate is None:
            self._head += chunk
            if len(self._head) < 2 and chunk:
                return b"", False
            first = int.from_bytes(self._head[:2], "big")
            plain = self._head[:1] and self._head[0] & 15 == 8 and first % 31 == 0
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS if plain else -zlib.MAX_WBITS)
            chunk, self._head = self._head, b""
        try:
            return self._step(chunk, limit, ended)
        except zlib.error:
            raise BrokenBody("the answer's compressed body is damaged") from None

    def _step(self, chunk: bytes, limit: int, ended: bool) -> tuple[bytes, bool]:
        out: list[bytes] = []
        while limit > 0 and not self._inflate.eof:
            data = self._inflate.decompress(chunk, limit)
            out.append(data)
            limit -= len(data)
            chunk = self._inflate.unconsumed_tail
            if self._inflate.eof and self._inflate.unused_data and self._bits:
                chunk = self._inflate.unused_data  # gzip may consist of several members
                self._members += 1
                if self._members > _MAX_MEMBERS:  # each costs a copy of what is left
                    raise BrokenBody("the answer's compressed body has too many parts")
                self._inflate = zlib.decompressobj(self._bits)
            elif not chunk:
                break
        if ended and self._fed and limit > 0 and not self._inflate.eof:
            raise BrokenBody("the answer's compressed body ends too early")
        return b"".join(out), limit <= 0
