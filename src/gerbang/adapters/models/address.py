"""`MODEL@URL`, taken apart and checked: the only place a model's server is named."""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from gerbang.errors import ConfigError

_SCHEMES: Final = ("@http://", "@https://")


class Address(Struct, frozen=True):
    """A model and its server. `url` has no trailing slash, `origin` is scheme, host and port."""

    model: str
    url: str
    origin: str
    private: bool
    """True when a key may go there unasked: over TLS, or within this machine."""


def parse_address(text: str, kind: str, example: str, default_url: str | None = None) -> Address:
    """Return the address in `text`. Raises ConfigError with `example` when it has not the right shape."""
    place = max(text.rfind(scheme) for scheme in _SCHEMES)
    if place >= 0:
        model, url = text[:place], text[place + 1 :]
    elif "@" in text:  # whatever is behind it is no URL of these schemes
        model, url = "", text.partition("@")[2]
    else:
        model, url = text, default_url or ""
    shown = text[:200] if not {"@", "?", "#"} & set(url) else "(not shown: it may hold a secret)"
    if not model.strip() or not url:
        raise ConfigError(f"The address `{kind}:{shown}` is not complete. Write it like {example}.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(
            f"The address `{kind}:{shown}` has no valid URL. Write it like {example}."
        ) from None
    if not host:
        raise ConfigError(f"The URL of `{kind}:{shown}` names no host. Write it like {example}.")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "A model address takes no user name or password. Keep the key as a secret and give its name."
        )
    if parts.query or parts.fragment:
        raise ConfigError(
            f"The URL of `{kind}:{shown}` may have no `?` or `#` part. Write it like {example}."
        )
    bracketed = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{bracketed}" + (f":{port}" if port is not None else "")
    local = parts.scheme == "https" or _is_loopback(host)
    return Address(model.strip(), origin + parts.path.rstrip("/"), origin, local)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
