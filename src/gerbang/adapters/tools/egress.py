"""Where tools may connect to: names and ports before a request, real addresses when a socket is made.

A name is looked at when a request is built, and again for every redirect. What it resolves to is looked at in
the factory of the sockets, which sees each address just before the connect: a name that resolves to
something else the second time, a number in another writing and a redirect all pass there.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from gerbang.adapters.tools.addresses import (
    LOOPBACK,
    PRIVATE,
    IPAddress,
    IPNetwork,
    read_address,
    why_not_public,
)
from gerbang.adapters.tools.http_errors import Attempt
from gerbang.errors import ConfigError
from gerbang.values import CallContext

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_FORMS: Final = (
    "api.example.com, api.example.com:8443, *.example.com, localhost:8080, 127.0.0.1:8080, "
    "[::1]:8080, 10.0.0.0/8, 10.0.0.0/8:8080"
)
_LABEL: Final = re.compile(r"[a-z0-9_-]{1,63}")
_AUTHORITY: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\[\]:]*)(?::[0-9]*)?")
_NUMBER: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_LOCALHOST: Final = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class EgressRefused(OSError):
    """A connection that the guard does not allow. `str()` says why, for the model and the user."""


class Place(Struct, frozen=True):
    """A host and a port as a URL names them. `host` is lower case, an IP address in its short form."""

    scheme: str
    host: str
    port: int

    @property
    def origin(self) -> str:
        """Scheme, host and port in one text."""
        bracketed = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{bracketed}:{self.port}"


class _Rule(Struct, frozen=True):
    """One entry of an allow-list. `ports` None allows all, empty only the default ports."""

    name: str = ""
    network: IPNetwork | None = None
    ports: frozenset[int] | None = frozenset()

    def port_fits(self, place: Place) -> bool:
        """Tell whether the port of the place is allowed."""
        if self.ports is None:
            return True
        return place.port in (self.ports or DEFAULT_PORTS.values())

    def name_fits(self, host: str) -> bool:
        """Tell whether the host is this name, or under it for `*.`."""
        if self.name.startswith("*."):
            return host.endswith(self.name[1:])
        return bool(self.name) and host == self.name


class Egress:
    """An allow-list. `entries` are names, addresses and networks, each with a port or without.

    A name or address without a port allows 80 and 443, a network without one every port; `:*` allows every
    port. A name may connect to public addresses only, whatever it resolves to. Loopback, private, link-local
    and other special addresses need an entry of their own: an address, a network, or `localhost`. Raises
    ConfigError for an entry that is none of these.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        if isinstance(entries, str):
            raise ConfigError(f"egress takes a list of entries such as {_FORMS}; found one text.")
        self.entries = tuple(entries)
        self._rules = tuple(_rule(entry) for entry in self.entries)

    def check_place(self, place: Place) -> None:
        """Raise EgressRefused unless the host and port of a URL are on the list."""
        address = read_address(place.host)
        for rule in self._rules:
            if not rule.port_fits(place):
                continue
            if address is None and rule.name_fits(place.host):
                return
            if address is not None and rule.network is not None and _within(address, rule.network):
                return
        raise EgressRefused(
            f"{place.host}:{place.port} is not on the list of hosts that tools may reach (setting `egress`)"
        )

    def check_address(self, address: IPAddress, place: Place) -> None:
        """Raise EgressRefused unless this address is public, or allowed by an entry of its own."""
        why = why_not_public(address)
        if why is None:
            return
        for rule in self._rules:
            if not rule.port_fits(place):
                continue
            if rule.network is not None and _within(address, rule.network):
                return
            if rule.name == "localhost" == place.host and any(_within(address, net) for net in _LOCALHOST):
                return
        raise EgressRefused(
            f"{place.host}:{place.port} leads to {address}, which is {why}. Tools reach such an address only "
            "when the setting `egress` names it"
        )


def own_place(place: Place, *, trusted: bool) -> Egress:
    """Return the list of a tool that reaches nothing but the place its own definition names.

    The default port of http allows that of https as well, for the redirect between them. `trusted`: the
    operator wrote the definition, so a loopback or private address that it names counts as allowed by name.
    """
    address = read_address(place.host)
    why = why_not_public(address) if address is not None else "local" if place.host == "localhost" else None
    if why is not None and not (trusted and why in ("local", LOOPBACK, PRIVATE)):
        return Egress(())
    host = f"[{place.host}]" if ":" in place.host else place.host
    ports = set(DEFAULT_PORTS.values()) if place.port in DEFAULT_PORTS.values() else {place.port}
    return Egress(f"{host}:{port}" for port in sorted(ports))


def read_place(url: str) -> Place:
    """Return where a URL leads. Raises EgressRefused for anything but a plain http or https address.

    Numbers that are no dotted address (`2130706433`, `0x7f.1`, `0177.0.0.1`, `127.1`) are refused: different
    programs read them differently.
    """
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise EgressRefused("the URL has characters that a URL cannot have")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise EgressRefused("the URL has no valid host or port") from None
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise EgressRefused(f"the URL begins with {scheme[:20] or 'nothing'}: instead of http: or https:")
    if "@" in parts.netloc:
        raise EgressRefused("the URL holds a user name or password")
    if not _AUTHORITY.fullmatch(parts.netloc):
        raise EgressRefused("the URL has no valid host or port")
    if port == 0:
        raise EgressRefused("the URL has the port 0")
    return Place(scheme, _host(host), port or DEFAULT_PORTS[scheme])


class Hop:
    """One request on its way. `refused` is why the guard let none of its addresses through, once it did.

    `attempt` is told when bytes go out, `context` is asked just before.
    """

    __slots__ = ("attempt", "context", "egress", "place", "refused")

    def __init__(self, egress: Egress, place: Place, attempt: Attempt, context: CallContext) -> None:
        self.egress = egress
        self.place = place
        self.attempt = attempt
        self.context = context
        self.refused: EgressRefused | None = None


reaching: ContextVar[Hop | None] = ContextVar("reaching", default=None)
"""The request that is being made in this context; the socket factory goes by it."""


def guarded_socket(info: tuple[Any, ...]) -> socket.socket:
    """Make a socket for one resolved address, after looking at it. For aiohttp's `socket_factory`.

    Raises EgressRefused, also when nothing says which request the connection is for.
    """
    family, kind, proto, _, sockaddr = info
    hop = reaching.get()
    if hop is None or family not in (socket.AF_INET, socket.AF_INET6):
        raise EgressRefused("the connection belongs to no request of a tool")
    address = read_address(str(sockaddr[0]))
    try:
        if address is None or sockaddr[1] != hop.place.port:
            raise EgressRefused(f"{hop.place.host}:{hop.place.port} leads to something that is no address")
        hop.egress.check_address(address, hop.place)
    except EgressRefused as refused:
        hop.refused = refused  # the connector wraps what is raised here, sometimes several of them
        raise
    made = socket.socket(family, kind, proto)
    made.setblocking(False)
    return made


def _host(host: str) -> str:
    host = host.lower().removesuffix(".")
    address = read_address(host)
    if address is not None:
        return str(address)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise EgressRefused(f"{host[:80]!r} is no host name; write names beyond ASCII in their xn-- form")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        raise EgressRefused(
            f"{host[:80]!r} is a number in an unusual writing; write the address as 127.0.0.1"
        )
    if "xn--" in host and not _decodes(host):
        raise EgressRefused(f"{host[:80]!r} is no host name; what stands behind its xn-- spells no letters")
    return host


def _decodes(host: str) -> bool:
    """Tell whether the client can read the name: it decodes `xn--` labels (RFC 5891, 4.4) to connect."""
    from yarl import URL  # with the client, at the first call: a gate without HTTP tools never needs it

    try:
        return bool(URL(f"http://{host}/", encoded=True).host)
    except ValueError:
        return False


def _rule(entry: Any) -> _Rule:
    if not isinstance(entry, str):
        raise ConfigError(f"An entry of egress is a text such as {_FORMS}; found {str(entry)[:80]!r}.")
    text = entry.strip().lower()
    host, ports = _split_port(text)
    try:
        if "/" in host:
            network = ipaddress.ip_network(host.strip("[]"))
            return _Rule(network=network, ports=None if ports == frozenset() else ports)
        address = read_address(host.strip("[]"))
        if address is not None:
            return _Rule(network=ipaddress.ip_network(address), ports=ports)
        bare = host.removeprefix("*.")
        if host != "*." and _host(bare) == bare.removesuffix("."):
            return _Rule(name=host.removesuffix("."), ports=ports)
    except (ValueError, EgressRefused):
        pass
    raise ConfigError(f"{entry[:120]!r} is no entry of egress. Write one like: {_FORMS}.")


def _split_port(text: str) -> tuple[str, frozenset[int] | None]:
    head, colon, tail = text.rpartition(":")
    bare_v6 = ":" in head and not head.endswith("]") and "/" not in head
    if not colon or bare_v6 or "/" in tail or "]" in tail:
        return text, frozenset()
    if tail == "*":
        return head, None
    if tail.isascii() and tail.isdigit() and 0 < int(tail[:6]) < 65_536:
        return head, frozenset({int(tail)})
    return text, frozenset()


def _within(address: IPAddress, network: IPNetwork) -> bool:
    return address.version == network.version and address in network
