"""The egress guard: which places and addresses a list allows, in every writing of an address."""

import asyncio
import ipaddress
import socket
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.adapters.tools import egress
from gerbang.adapters.tools.addresses import read_address, why_not_public
from gerbang.adapters.tools.egress import Egress, EgressRefused, Place, guarded_socket, own_place, read_place
from gerbang.adapters.tools.http_errors import Attempt
from tests.runtime.street import code, run
from tests.tools.origin import call, definition, serving

SPECIAL = [
    *("0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254"),
    *("168.63.129.16", "169.254.169.254", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.192"),
    *("192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7"),
    *("203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "fdab::1", "ff02::1"),
    *("2001:db8::1", "2001::1", "2001:10::1", "3fff::1", "100::1", "::127.0.0.1", "::ffff:127.0.0.1"),
    *(
        "::ffff:7f00:1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::10.0.0.1",
    ),
    *("64:ff9b:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2606:4700::5efe:127.0.0.1", "4000::1"),
    *("2606:4700::200:5efe:10.0.0.1", "5f00::1"),
]
PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.1.1.1"),
    *(
        "172.15.0.1",
        "172.32.0.1",
        "192.167.1.1",
        "192.169.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.254",
    ),
    *("2606:4700:4700::1111", "2a00:1450::1", "64:ff9b::8.8.8.8", "2002:808:808::1", "::ffff:8.8.8.8"),
]


@pytest.mark.parametrize("text", SPECIAL)
def test_addresses_that_are_not_public(text: str) -> None:
    address = read_address(text)
    assert address is not None
    assert why_not_public(address)


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses(text: str) -> None:
    address = read_address(text)
    assert address is not None
    assert why_not_public(address) is None


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://Example.COM", "http://example.com:80"),
        ("https://example.com./x", "https://example.com:443"),
        ("HTTPS://example.com:8443/x?y#z", "https://example.com:8443"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]:80"),
        ("http://[::ffff:127.0.0.1]/", "http://127.0.0.1:80"),
        ("http://xn--exmple-cua.com", "http://xn--exmple-cua.com:80"),
        ("http://xn--fa-hia.de", "http://xn--fa-hia.de:80"),
        ("http://a.xn--p1ai", "http://a.xn--p1ai:80"),
        ("http://xn--ls8h.la", "http://xn--ls8h.la:80"),
        ("http://a_b.example", "http://a_b.example:80"),
    ],
)
def test_places(url: str, origin: str) -> None:
    assert read_place(url).origin == origin


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "x",
            "//example.com",
            "ftp://example.com",
            "javascript:alert(1)",
            "http://",
            "http:///x",
            "http://:80",
        ),
        *(
            "http://a b",
            "http://exa\nmple.com",
            "http://a\\b",
            "http://u@example.com",
            "http://u:p@example.com",
        ),
        *("http://2130706433", "http://0x7f000001", "http://0x7f.0.0.1", "http://0177.0.0.1", "http://127.1"),
        *("http://127.0.0.1.", "http://017700000001", "http://example.123", "http://example.0x1"),
        *("http://[::1", "http://[v1.x]", "http://example.com:x", "http://example.com:70000", "http://a..b"),
        *("http://xn--.example.com", "http://xn--a.example.com", "http://XN--99999999.example.com"),
        *("http://a.xn--a-.example.com", "http://xn---.example.com"),
        *("http://*.example.com", "http://%6c%6f", "http://①②⑦.0.0.1", "http://[fe80::1%25eth0]x"),
    ],
)
def test_urls_that_lead_nowhere(url: str) -> None:
    if url == "http://127.0.0.1.":  # a dot at the end is the same address
        assert read_place(url).host == "127.0.0.1"
        return
    with pytest.raises(EgressRefused):
        read_place(url)


LISTS: list[tuple[list[str], str, str | None, bool]] = [
    # entries, URL, the address that it resolves to (None: public), allowed
    (["api.example.com"], "https://api.example.com", None, True),
    (["API.Example.com."], "http://api.example.com", None, True),
    (["api.example.com"], "https://api.example.com:8443", None, False),
    (["api.example.com:8443"], "https://api.example.com:8443", None, True),
    (["api.example.com:8443"], "https://api.example.com", None, False),
    (["api.example.com:*"], "https://api.example.com:1", None, True),
    (["api.example.com"], "https://example.com", None, False),
    (["example.com"], "https://api.example.com", None, False),
    (["*.example.com"], "https://api.example.com", None, True),
    (["*.example.com"], "https://a.b.example.com", None, True),
    (["*.example.com"], "https://example.com", None, False),
    (["*.example.com"], "https://notexample.com", None, False),
    ([], "https://example.com", None, False),
    (["api.example.com"], "https://api.example.com", "127.0.0.1", False),
    (["api.example.com"], "https://api.example.com", "10.0.0.5", False),
    (["api.example.com"], "https://api.example.com", "169.254.169.254", False),
    (["api.example.com"], "https://api.example.com", "::1", False),
    (["api.example.com"], "https://api.example.com", "::ffff:10.0.0.5", False),
    (["api.example.com", "10.0.0.0/8"], "https://api.example.com", "10.0.0.5", True),
    (["api.example.com", "10.0.0.0/8"], "https://api.example.com", "::ffff:10.0.0.5", True),
    (["api.example.com", "10.0.0.0/8:80"], "https://api.example.com", "10.0.0.5", False),
    (["api.example.com", "10.0.0.0/8"], "https://api.example.com", "192.168.0.5", False),
    (["10.0.0.0/8"], "http://10.0.0.5:9000", "10.0.0.5", True),
    (["10.0.0.0/8:9000"], "http://10.0.0.5:9000", "10.0.0.5", True),
    (["10.0.0.0/8:9000"], "http://10.0.0.5:9001", "10.0.0.5", False),
    (["10.0.0.5"], "http://10.0.0.5", "10.0.0.5", True),
    (["10.0.0.5"], "http://10.0.0.5:81", "10.0.0.5", False),
    (["10.0.0.5:81"], "http://10.0.0.5:81", "10.0.0.5", True),
    (["10.0.0.5"], "http://10.0.0.6", "10.0.0.6", False),
    (["8.8.8.8"], "http://8.8.8.8", "8.8.8.8", True),
    (["10.0.0.0/8"], "http://8.8.8.8", "8.8.8.8", False),
    (["[::1]:8080"], "http://[::1]:8080", "::1", True),
    (["::1"], "http://[::1]", "::1", True),
    (["fc00::/7"], "http://[fd00::5]:8080", "fd00::5", True),
    (["localhost:8080"], "http://localhost:8080", "127.0.0.1", True),
    (["localhost:8080"], "http://localhost:8080", "::1", True),
    (["localhost:8080"], "http://localhost:8081", "127.0.0.1", False),
    (["localhost:8080"], "http://localhost:8080", "10.0.0.5", False),
    (["localhost:8080"], "http://127.0.0.1:8080", "127.0.0.1", False),
    (["localhost:8080", "api.example.com:8080"], "http://api.example.com:8080", "127.0.0.1", False),
    (["127.0.0.1:8080"], "http://localhost:8080", "127.0.0.1", False),
]


@pytest.mark.parametrize(("entries", "url", "resolved", "allowed"), LISTS)
def test_lists(entries: list[str], url: str, resolved: str | None, allowed: bool) -> None:
    place, guard = read_place(url), Egress(entries)
    address = read_address(resolved or "8.8.8.8")
    assert address is not None

    def check() -> None:
        guard.check_place(place)
        guard.check_address(address, place)

    if allowed:
        check()
    else:
        with pytest.raises(EgressRefused, match="setting `egress`"):
            check()


@pytest.mark.parametrize(
    "entry",
    [
        "",
        " ",
        "a b",
        "http://example.com",
        "example.com/x",
        "10.0.0.0/99",
        "10.0.0.1/8",
        "*",
        "*.",
        "a:b",
        5,
        "127.1",
    ],
)
def test_entries_that_are_none(entry: Any) -> None:
    with pytest.raises(g.ConfigError, match="egress"):
        Egress([entry])
    with pytest.raises(g.ConfigError, match="takes a list"):
        Egress("example.com")


def passes(guard: Egress, place: Place, address: Any) -> bool:
    try:
        guard.check_place(place)
        guard.check_address(address, place)
    except EgressRefused:
        return False
    return True


@pytest.mark.parametrize(
    ("url", "resolved", "trusted", "untrusted"),
    [
        ("https://api.example.com", "8.8.8.8", True, True),
        ("https://api.example.com", "127.0.0.1", False, False),
        ("http://8.8.8.8:90", "8.8.8.8", True, True),
        ("http://127.0.0.1:8080", "127.0.0.1", True, False),
        ("http://localhost:8080", "127.0.0.1", True, False),
        ("http://192.168.1.5", "192.168.1.5", True, False),
        ("http://[fd00::1]:8080", "fd00::1", True, False),
        ("http://169.254.169.254", "169.254.169.254", False, False),
        ("http://[fd00:ec2::254]", "fd00:ec2::254", False, False),
        ("http://100.100.100.200", "100.100.100.200", False, False),
        ("http://0.0.0.0:80", "0.0.0.0", False, False),
        ("http://[::ffff:169.254.169.254]", "169.254.169.254", False, False),
    ],
)
def test_what_a_definition_allows_by_itself(url: str, resolved: str, trusted: bool, untrusted: bool) -> None:
    place = read_place(url)
    for who, allowed in ((True, trusted), (False, untrusted)):
        guard = own_place(place, trusted=who)
        address = ipaddress.ip_address(resolved)
        assert passes(guard, place, address) == allowed


def test_a_socket_without_a_request_is_refused() -> None:
    info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("8.8.8.8", 80))
    with pytest.raises(EgressRefused, match="no request"):
        guarded_socket(info)
    context = g.CallContext(g.Principal("ana"), "r", 1, "c", "k")
    hop = egress.Hop(Egress(["a.example"]), read_place("http://a.example"), Attempt(True), context)
    token = egress.reaching.set(hop)
    try:
        guarded_socket(info).close()
        for family, sockaddr in [
            (socket.AF_INET, ("127.0.0.1", 80)),
            (socket.AF_INET, ("8.8.8.8", 81)),
            (socket.AF_INET6, ("::ffff:127.0.0.1", 80, 0, 0)),
            (socket.AF_UNIX, "/tmp/x"),
        ]:
            with pytest.raises(EgressRefused):
                guarded_socket((family, socket.SOCK_STREAM, 0, "", sockaddr))
    finally:
        egress.reaching.reset(token)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_loopback_is_reached_when_it_is_named_and_not_else(tmp_path: Path, host: str) -> None:
    async def work() -> list[str]:
        async with serving(host=host) as origin:
            bracketed = f"[{host}]" if ":" in host else host
            codes = []
            for entries in (None, [f"{bracketed}:{origin.port}"], [f"{bracketed}:1"], ["example.com"], []):
                result = await call(tmp_path, definition(origin.url), egress=entries)
                codes.append(code(result))
            assert len(origin.seen) == 2
            return codes

    assert run(work()) == ["ok", "ok", "EGRESS_REFUSED", "EGRESS_REFUSED", "EGRESS_REFUSED"]


def rebinding(monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[str]]) -> None:
    """Let names resolve to chosen addresses, one after the other, as a hostile name server would."""
    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        found = answers.get(host)
        if found is None:
            return real(host, port, *args, **kwargs)
        address = found.pop(0) if len(found) > 1 else found[0]
        return real(address, port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def test_a_name_that_resolves_to_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rebinding(monkeypatch, {"evil.example": ["127.0.0.1"]})

    async def work() -> None:
        async with serving() as origin:
            url = f"http://evil.example:{origin.port}/"
            for entries in (
                None,
                [f"evil.example:{origin.port}"],
                [f"evil.example:{origin.port}", "10.0.0.0/8"],
            ):
                result = await call(tmp_path, definition(url), egress=entries)
                assert result.error is not None
                assert (result.error.error_code, result.error.effect) == ("EGRESS_REFUSED", "none")
                assert "leads to 127.0.0.1, which is a loopback address" in result.error.message
            assert origin.seen == []
            result = await call(
                tmp_path, definition(url), egress=[f"evil.example:{origin.port}", "127.0.0.0/8"]
            )
            assert result.status == "ok"

    run(work())


def test_proxies_and_credentials_of_the_environment_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with serving() as origin, serving() as proxy:
            for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            netrc = tmp_path / "netrc"
            netrc.write_text("machine 127.0.0.1 login ana password hunter2")
            netrc.chmod(0o600)
            monkeypatch.setenv("NETRC", str(netrc))
            assert (await call(tmp_path, definition(origin.url))).status == "ok"
            assert proxy.seen == []
            assert "authorization" not in origin.last.headers

    run(work())


def test_many_calls_at_once_each_go_by_their_own_list(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving() as one, serving() as two:
            results = await asyncio.gather(
                *(
                    call(tmp_path, definition(origin.url), egress=[f"127.0.0.1:{allowed.port}"])
                    for origin in (one, two)
                    for allowed in (one, two)
                )
            )
            assert [code(result) for result in results] == ["ok", "EGRESS_REFUSED", "EGRESS_REFUSED", "ok"]

    run(work())


def test_localhost_is_both_of_its_addresses_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> list[str]:
        async with serving() as origin:
            url = f"http://localhost:{origin.port}/"
            codes = [code(await call(tmp_path, definition(url)))]
            codes.append(code(await call(tmp_path, definition(url), egress=[f"localhost:{origin.port}"])))
            codes.append(code(await call(tmp_path, definition(url), egress=[f"127.0.0.1:{origin.port}"])))
            rebinding(monkeypatch, {"localhost": ["169.254.169.254"]})
            codes.append(code(await call(tmp_path, definition(url))))
            return codes

    assert run(work()) == ["ok", "ok", "EGRESS_REFUSED", "EGRESS_REFUSED"]


def test_a_name_is_looked_at_again_for_every_new_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that was allowed once is not trusted for that: it leads elsewhere the second time."""

    async def work() -> list[str]:
        async with serving() as bad:
            addresses = ["127.0.0.2", "127.0.0.1"]
            rebinding(monkeypatch, {"two.example": addresses})
            url = f"http://two.example:{bad.port}/"
            tools = [definition(url, "PUT", name=name) for name in ("one", "two")]
            egress = [f"two.example:{bad.port}", "127.0.0.2/32"]
            # each has a client of its own, so that nothing is kept
            codes = [code(await call(tmp_path, tool, egress=egress)) for tool in tools]
            assert bad.seen == []
            return codes

    assert run(work()) == ["CONNECT_FAILED", "EGRESS_REFUSED"]
