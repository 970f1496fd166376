"""Redirects: bounded, looked at again, and nothing of the first origin goes to another."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import gerbang as g
from tests.runtime.street import code, run
from tests.tools.origin import Origin, call, definition, serving

READS = ["GET", "HEAD", "OPTIONS", "TRACE"]


def redirecting(status: int, target: str) -> Any:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith("/there"):
            return web.Response(text="arrived")
        return web.Response(status=status, headers={"Location": target})

    return handle


async def go(
    folder: Path, method: str, status: int, target: str, **more: Any
) -> tuple[g.Result, list[tuple[str, str, bytes]]]:
    async with serving(redirecting(status, target)) as origin:
        result = await call(
            folder, definition(origin.url + "/here/{id}", method, **more), {"id": "a", "n": 1}
        )
        return result, [(seen.method, seen.path, seen.body) for seen in origin.seen]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", READS)
def test_a_read_is_followed(tmp_path: Path, method: str, status: int) -> None:
    result, seen = run(go(tmp_path, method, status, "/there?x=%2F#y"))
    assert result.status == "ok"
    then = "GET" if status == 303 and method != "HEAD" else method
    assert seen == [(method, "/here/a?n=1", b""), (then, "/there?x=%2F", b"")]


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PURGE"])
def test_a_change_keeps_its_method_and_body(tmp_path: Path, method: str, status: int) -> None:
    result, seen = run(go(tmp_path, method, status, "/there"))
    assert (result.status, result.value) == ("ok", "arrived")
    body = b"" if method == "DELETE" else b'{"n":1}'
    assert seen[1] == (method, "/there", body)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PURGE"])
def test_see_other_is_read_with_get(tmp_path: Path, method: str) -> None:
    result, seen = run(go(tmp_path, method, 303, "/there"))
    assert (result.status, result.value) == ("ok", "arrived")
    assert seen[1] == ("GET", "/there", b"")


@pytest.mark.parametrize("status", [301, 302])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PURGE"])
def test_a_change_is_not_turned_into_something_else(tmp_path: Path, method: str, status: int) -> None:
    result, seen = run(go(tmp_path, method, status, "/there"))
    assert result.error is not None
    assert (code(result), result.error.effect) == ("HTTP_3XX", "unknown")
    assert result.error.message.startswith(f"HTTP {status} — a redirect to 127.0.0.1 that is not followed: ")
    assert len(seen) == 1


def test_the_effect_behind_see_other_has_happened(tmp_path: Path) -> None:
    result, _ = run(go(tmp_path, "POST", 303, "http://169.254.169.254/latest"))
    assert result.error is not None
    assert (code(result), result.error.effect) == ("EGRESS_REFUSED", "happened")


@pytest.mark.parametrize(
    "target",
    [
        *(
            "http://169.254.169.254/latest/meta-data",
            "http://[fd00:ec2::254]/",
            "http://10.0.0.1/",
            "http://[::1]/",
        ),
        *(
            "http://localhost:1/",
            "http://127.0.0.1:1/",
            "//127.0.0.2/",
            "http://example.com/",
            "https://example.com/",
        ),
        *("http://2130706433/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]:1/", "http://0.0.0.0/"),
        *(
            "http://127.0.0.1@example.com/",
            "ftp://127.0.0.1/x",
            "file:///etc/passwd",
            "gopher://127.0.0.1/",
            "",
        ),
        *(
            "http://",
            "http://[::1",
            "http://127.1/",
            "javascript:1",
            "\\\\127.0.0.1\\x",
            "http:\\\\example.com",
        ),
        *("http://xn--a.example.com/", "http://xn--.localhost:1/"),
    ],
)
def test_where_a_redirect_does_not_lead(tmp_path: Path, target: str) -> None:
    async def work() -> tuple[g.Result, Origin]:
        async with serving(redirecting(302, target)) as origin:
            return await call(tmp_path, definition(origin.url)), origin

    result, origin = run(work())
    if target == "http://" or "\\" in target:  # a path of the same origin: backslashes are encoded
        assert code(result) == "HTTP_3XX"
        assert {seen.headers["host"] for seen in origin.seen} == {f"127.0.0.1:{origin.port}"}
        return
    assert code(result) in ("EGRESS_REFUSED", "HTTP_3XX")
    assert len(origin.seen) == 1
    assert result.error is not None
    assert result.error.effect == "none"


def test_a_broken_name_under_a_wildcard(tmp_path: Path) -> None:
    async def work() -> g.Result:
        async with serving(redirecting(302, "http://xn--a.example.com/")) as origin:
            wild = ["*.example.com:80", f"127.0.0.1:{origin.port}"]
            return await call(tmp_path, definition(origin.url), egress=wild)

    result = run(work())
    assert result.error is not None
    assert (code(result), result.error.effect) == ("HTTP_3XX", "none")
    assert "'xn--a.example.com' is no host name" in result.error.message


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_circle_ends(tmp_path: Path, method: str) -> None:
    result, seen = run(go(tmp_path, method, 307, "/here/again"))
    assert (code(result), len(seen)) == ("HTTP_3XX", 6)
    assert result.error is not None
    assert "too many redirects" in result.error.message


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("same", [True, False])
def test_no_header_of_the_definition_goes_to_another_origin(tmp_path: Path, method: str, same: bool) -> None:
    headers = {
        "Authorization": "Bearer ${secret:KEY}",
        "X-Plain": "plain",
        "Cookie": "a=b",
        "X-Arg": "{k}",
        "Accept": "text/plain",
    }

    async def work() -> tuple[g.Result, list[dict[str, str]], bytes]:
        async with serving(redirecting(307, "/there")) as there:
            target = "/there" if same else f"{there.url}/there"
            async with serving(redirecting(307, target)) as here:
                tool = definition(here.url, method, headers=headers, honours_key=True)
                tool.pop("honours_key")
                result = await call(
                    tmp_path,
                    tool,
                    {"k": "argument"},
                    egress=[f"127.0.0.1:{here.port}", f"127.0.0.1:{there.port}"],
                    secrets={"KEY": "canary-3141592"},
                )
                last = here.seen[1:] if same else there.seen
                return result, [here.seen[0].headers, last[0].headers], last[0].body

    result, (first, second), body = run(work())
    assert (result.status, result.value) == ("ok", "arrived")
    assert first["authorization"] == "Bearer canary-3141592"
    for name in ("authorization", "x-plain", "cookie", "x-arg"):
        assert (name in second) == same, name
    assert "accept" in second
    assert body == (b'{"k":"argument"}' if method == "POST" else b"")


def test_a_secret_does_not_come_back_after_a_detour(tmp_path: Path) -> None:
    """From here to there and back: what was dropped on the way is not picked up again."""

    async def work() -> None:
        first: list[str] = []

        async def at_here(request: web.BaseRequest) -> web.StreamResponse:
            if request.path == "/back":
                return web.Response(text="back")
            return web.Response(status=302, headers={"Location": first[0]})

        async with serving(at_here) as here, serving(redirecting(302, f"{here.url}/back")) as there:
            first.append(f"{there.url}/")
            tool = definition(here.url, headers={"A": "${secret:KEY}"})
            egress = [f"127.0.0.1:{here.port}", f"127.0.0.1:{there.port}"]
            result = await call(tmp_path, tool, egress=egress, secrets={"KEY": "canary-3141592"})
            assert result.value == "back"
            assert ["a" in seen.headers for seen in (*here.seen, *there.seen)] == [True, False, False]

    run(work())
