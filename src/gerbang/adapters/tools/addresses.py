"""IP addresses: which of them lie on the public internet. Pure, from the IANA special-purpose registries.

https://www.iana.org/assignments/iana-ipv4-special-registry, iana-ipv6-special-registry; RFC 6890.
"""

import ipaddress
from typing import Final

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

LOOPBACK: Final = "a loopback address"
PRIVATE: Final = "a private address"

_V4: Final = tuple(
    (ipaddress.IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", PRIVATE),
        ("100.64.0.0/10", "an address shared behind a carrier's NAT"),
        ("127.0.0.0/8", LOOPBACK),
        ("168.63.129.16/32", "a cloud platform's own address"),
        ("169.254.0.0/16", "a link-local address, where clouds keep their metadata"),
        ("172.16.0.0/12", PRIVATE),
        ("192.0.0.0/24", "an address reserved for protocols"),
        ("192.0.2.0/24", "an address reserved for documentation"),
        ("192.31.196.0/24", "an address reserved for protocols"),
        ("192.52.193.0/24", "an address reserved for protocols"),
        ("192.88.99.0/24", "an address of a 6to4 relay"),
        ("192.168.0.0/16", PRIVATE),
        ("192.175.48.0/24", "an address reserved for protocols"),
        ("198.18.0.0/15", "an address reserved for measurements"),
        ("198.51.100.0/24", "an address reserved for documentation"),
        ("203.0.113.0/24", "an address reserved for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_GLOBAL: Final = ipaddress.IPv6Network("2000::/3")
_V6: Final = tuple(
    (ipaddress.IPv6Network(network), kind)
    for network, kind in (
        ("2001::/23", "an IPv6 address reserved for protocols"),
        ("2001:db8::/32", "an IPv6 address reserved for documentation"),
        ("2620:4f:8000::/48", "an IPv6 address reserved for protocols"),
        ("3fff::/20", "an IPv6 address reserved for documentation"),
    )
)
_V6_NAMED: Final = tuple(
    (ipaddress.IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "the unspecified address"),
        ("::1/128", LOOPBACK),
        ("fd00:ec2::254/128", "a cloud platform's own address"),
        ("fc00::/7", PRIVATE),
        ("fe80::/10", "a link-local address"),
        ("ff00::/8", "a multicast address"),
    )
)
# Where an IPv4 address stands inside an IPv6 one: the network, and the byte at which it begins.
_CARRIERS: Final = tuple(
    (ipaddress.IPv6Network(network), start)
    for network, start in (
        ("::ffff:0:0/96", 12),  # mapped
        ("::ffff:0:0:0/96", 12),  # translated, RFC 2765
        ("64:ff9b::/96", 12),  # NAT64, RFC 6052
        ("2002::/16", 2),  # 6to4, RFC 3056
    )
)
_ISATAP: Final = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")


def read_address(text: str) -> IPAddress | None:
    """Return the address that a text is in its plain writing, or None. A zone (`%eth0`) is left out.

    An IPv4 address that is only mapped into IPv6 is the IPv4 address.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0] if ":" in text else text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


def why_not_public(address: IPAddress) -> str | None:
    """Return what the address is instead of a public one; None when it is public.

    An IPv6 address that carries an IPv4 one (mapped, NAT64, 6to4, ISATAP) is what it carries.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return next((kind for network, kind in _V4 if address in network), None)
    for network, start in _CARRIERS:
        if address in network:
            inner = ipaddress.IPv4Address(address.packed[start : start + 4])
            why = why_not_public(inner)
            return None if why is None else f"{why} ({inner}) inside an IPv6 address"
    if address.packed[8:12] in _ISATAP:
        why = why_not_public(ipaddress.IPv4Address(address.packed[12:]))
        if why is not None:
            return f"{why} inside an IPv6 address"
    named = next((kind for network, kind in _V6_NAMED if address in network), None)
    if named is not None:
        return named
    if address not in _GLOBAL:
        return "an IPv6 address that is not public"
    return next((kind for network, kind in _V6 if address in network), None)
