"""Answers of real servers: what becomes of every kind of body, and how much of it is read."""

import base64
import gzip
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import gerbang as g
from gerbang.adapters.tools.http_body import MAX_BODY_BYTES
from tests.runtime.street import code, run
from tests.tools.origin import call, definition, playing, reply, serving

PACKED = zlib.compress(b"The weather in Paris is fine, and so is that in Rome.")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
JSON = "Content-Type: application/json"
TEXT = "Content-Type: text/plain"


def deflated(data: bytes, bits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return packer.compress(data) + packer.flush()


def binary(data: bytes, kind: str, **more: Any) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    return {"content_type": kind, "bytes": len(data), "sha256": digest, **more}


VALUES: list[tuple[str, bytes, Any]] = [
    ("object", reply(b'{"a": [1, 2.5, null, "\xc3\xa4"]}', JSON), {"a": [1, 2.5, None, "ä"]}),
    ("JSON with a charset", reply('{"a":"ä"}'.encode("latin-1"), JSON + "; charset=iso-8859-1"), {"a": "ä"}),
    ("JSON with a mark", reply(b'\xef\xbb\xbf{"a":1}', JSON), {"a": 1}),
    ("problem", reply(b'{"a":1}', "Content-Type: application/problem+json; charset=utf-8"), {"a": 1}),
    ("a number", reply(b"7", JSON), 7),
    ("null", reply(b"null", JSON), None),
    ("large integer", reply(b"[123456789012345678901234567890]", JSON), [123456789012345678901234567890]),
    ("broken JSON", reply(b'{"a":', JSON), '{"a":'),
    ("NaN", reply(b'{"a":NaN}', JSON), '{"a":NaN}'),
    ("half a surrogate pair", reply(b'"\\ud800"', JSON), '"\\ud800"'),
    ("deep JSON", reply(b"[" * 9_000 + b"]" * 9_000, JSON), "[" * 9_000 + "]" * 9_000),
    ("JSON called text", reply(b'{"a":1}', TEXT), '{"a":1}'),
    ("text", reply("grün".encode(), TEXT), "grün"),
    ("latin-1", reply("grün".encode("latin-1"), TEXT + "; charset=ISO-8859-1"), "grün"),
    ("windows-1252", reply("“ü”".encode("cp1252"), TEXT + '; charset="windows-1252"'), "“ü”"),
    ("shift_jis", reply("日本".encode("shift_jis"), TEXT + "; charset=Shift_JIS"), "日本"),
    ("utf-16", reply("日本".encode("utf-16"), TEXT + "; charset=utf-16"), "日本"),
    ("unknown charset", reply("grün".encode(), TEXT + "; charset=klingon"), "grün"),
    ("a codec that is no charset", reply(b"grun", TEXT + "; charset=rot13"), "grun"),
    ("utf-7 is not read as such", reply(b"+ADw-", TEXT + "; charset=utf-7"), "+ADw-"),
    ("text that is not UTF-8", reply(b"a\xffb", TEXT), "a\ufffdb"),
    ("no type, text", reply(b"plain"), "plain"),
    ("octets that are text", reply(b"plain", "Content-Type: application/octet-stream"), "plain"),
    ("html", reply(b"<p>x</p>", "Content-Type: text/html"), "<p>x</p>"),
    ("xml", reply(b"<a/>", "Content-Type: application/atom+xml"), "<a/>"),
    (
        "image",
        reply(PNG, "Content-Type: image/png"),
        binary(PNG, "image/png", base64=base64.b64encode(PNG).decode()),
    ),
    ("no type, octets", reply(b"\0\1\2"), binary(b"\0\1\2", "unknown", base64="AAEC")),
    ("a large binary", reply(PNG * 40, "Content-Type: image/png"), binary(PNG * 40, "image/png")),
    (
        "empty",
        reply(b"", "ETag: x", "Set-Cookie: a=b", status=204),
        {"status": 204, "headers": {"etag": "x"}},
    ),
    ("not modified", reply(b"", status=304), {"status": 304, "headers": {}}),
    ("created", reply(b'{"id":1}', JSON, "Location: /1", status=201), {"id": 1}),
    ("gzip", reply(gzip.compress(b'{"a":1}'), JSON, "Content-Encoding: gzip"), {"a": 1}),
    ("x-gzip", reply(gzip.compress(b"abc"), TEXT, "Content-Encoding: X-GZIP"), "abc"),
    ("gzip in members", reply(gzip.compress(b"abc") * 3, TEXT, "Content-Encoding: gzip"), "abcabcabc"),
    ("deflate", reply(zlib.compress(b"abc"), TEXT, "Content-Encoding: deflate"), "abc"),
    ("raw deflate", reply(deflated(b"abc", -15), TEXT, "Content-Encoding: deflate"), "abc"),
    ("identity", reply(b"abc", TEXT, "Content-Encoding: identity"), "abc"),
    *(
        (
            f"packed, and not said to be: {kind}",
            reply(PACKED, f"Content-Type: {kind}"),
            binary(PACKED, kind.partition(";")[0], base64=base64.b64encode(PACKED).decode()),
        )
        for kind in (
            "text/plain",
            "application/json",
            "text/html; charset=utf-8",
            "text/html; charset=latin1",
        )
    ),
    ("an unnamed charset", reply("Grüße an alle".encode("latin-1"), TEXT), "Gr\ufffd\ufffde an alle"),
    (
        "an unnamed charset of another script",
        reply("Привет".encode("cp1251"), TEXT),
        binary("Привет".encode("cp1251"), "text/plain", base64="z/Do4uXy"),
    ),
    ("coloured text", reply(b"\x1b[31mred\x1b[0m\tx\r\n", TEXT), "\x1b[31mred\x1b[0m\tx\r\n"),
    ("empty gzip", reply(b"", "Content-Encoding: gzip"), {"status": 200, "headers": {}}),
    ("no length", b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nabc", "abc"),
    ("chunks", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", "abc"),
    ("after 103", b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + reply(b"abc", TEXT), "abc"),
]


@pytest.mark.parametrize(("sent", "value"), [pytest.param(*row[1:], id=row[0]) for row in VALUES])
def test_what_an_answer_becomes(tmp_path: Path, sent: bytes, value: Any) -> None:
    async def work() -> g.Result:
        async with playing(sent) as origin:
            return await call(tmp_path, definition(origin.url))

    result = run(work())
    assert result.error is None
    told = result.value
    if isinstance(told, dict) and "headers" in told:
        told["headers"] = {name: item for name, item in told["headers"].items() if name != "content-length"}
    assert told == value
    assert type(told) is type(value)


BROKEN: list[tuple[str, bytes, str, str]] = [
    ("brotli", reply(b"abc", "Content-Encoding: br"), "BAD_BODY", "packed as 'br'"),
    ("two packings", reply(b"abc", "Content-Encoding: gzip, gzip"), "BAD_BODY", "packed as 'gzip, gzip'"),
    (
        "two packings, two headers",
        reply(gzip.compress(b"\x1b\x2d"), "Content-Encoding: gzip", "Content-Encoding: br"),
        "BAD_BODY",
        "packed as 'gzip, br'",
    ),
    ("zstandard", reply(b"\x28\xb5\x2f\xfd", TEXT, "Content-Encoding: zstd"), "BAD_BODY", "as 'zstd'"),
    ("damaged gzip", reply(b"no gzip at all", "Content-Encoding: gzip"), "BAD_BODY", "damaged"),
    ("short gzip", reply(gzip.compress(b"abc" * 99)[:-9], "Content-Encoding: gzip"), "BAD_BODY", "too early"),
    ("one byte of deflate", reply(b"\x78", "Content-Encoding: deflate"), "BAD_BODY", "too early"),
]


@pytest.mark.parametrize(("sent", "wanted", "words"), [pytest.param(*row[1:], id=row[0]) for row in BROKEN])
@pytest.mark.parametrize(("method", "effect"), [("GET", "none"), ("POST", "happened")])
def test_a_body_that_cannot_be_unpacked(
    tmp_path: Path, sent: bytes, wanted: str, words: str, method: str, effect: str
) -> None:
    async def work() -> g.Result:
        async with playing(sent) as origin:
            return await call(tmp_path, definition(origin.url, method))

    result = run(work())
    assert result.error is not None
    assert (code(result), result.error.effect) == (wanted, effect)
    assert result.error.message.startswith("tool request failed: HTTP 200, but the answer")
    assert words in result.error.message


@pytest.mark.parametrize("kind", ["text/plain", "image/png"])
def test_a_stream_without_end_is_cut_at_the_cap(tmp_path: Path, kind: str) -> None:
    async def work() -> tuple[g.Result, int]:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode()
        async with playing(head + (b"\0" if kind == "image/png" else b"x"), "flood") as origin:
            result = await call(tmp_path, definition(origin.url))
            await origin.gone.wait()
            return result, origin.sent

    result, sent = run(work())
    assert sent < 40 * MAX_BODY_BYTES  # what the sockets between can hold
    if kind == "image/png":
        assert result.value == {"content_type": kind, "bytes": MAX_BODY_BYTES, "truncated": True}
    else:
        assert result.value == "x" * MAX_BODY_BYTES + "… [truncated]"


@pytest.mark.parametrize("packing", ["gzip", "deflate", "raw deflate", "gzip of gzip"])
def test_a_bomb_unpacks_to_the_cap_and_no_further(tmp_path: Path, packing: str) -> None:
    zeros = b"x" * (64 * MAX_BODY_BYTES)
    bits = {"gzip": 31, "deflate": 15, "raw deflate": -15, "gzip of gzip": 31}[packing]
    bomb = deflated(zeros, bits)
    if packing == "gzip of gzip":
        bomb *= 50
    encoding = "Content-Encoding: " + ("gzip" if "gzip" in packing else "deflate")

    async def work() -> g.Result:
        async with playing(reply(bomb, TEXT, encoding)) as origin:
            return await call(tmp_path, definition(origin.url))

    assert run(work()).value == "x" * MAX_BODY_BYTES + "… [truncated]"


def test_packed_data_that_unpacks_to_nothing_ends_as_well(tmp_path: Path) -> None:
    nothing = gzip.compress(b"") * 100_000

    async def work() -> g.Result:
        async with playing(reply(nothing, TEXT, "Content-Encoding: gzip")) as origin:
            return await call(tmp_path, definition(origin.url))

    result = run(work())
    assert (code(result), "too many parts" in str(result.error)) == ("BAD_BODY", True)


def test_a_cut_in_the_middle_of_a_letter(tmp_path: Path) -> None:
    async def work() -> g.Result:
        async with playing(reply(b"a" + "ä".encode() * MAX_BODY_BYTES, TEXT)) as origin:
            return await call(tmp_path, definition(origin.url))

    assert run(work()).value == "a" + "ä" * ((MAX_BODY_BYTES - 1) // 2) + "… [truncated]"


def test_a_result_that_breaks_its_own_schema(tmp_path: Path) -> None:
    async def work() -> list[str]:
        async with serving() as origin:
            fits = {"type": "object", "properties": {"method": {"const": "GET"}}, "required": ["method"]}
            return [
                code(await call(tmp_path, definition(origin.url, method, risk="read_external", returns=fits)))
                for method in ("GET", "POST")
            ]

    assert run(work()) == ["ok", "OUTPUT_SHAPE"]


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "OPTIONS", "TRACE", "DELETE", "POST", "PUT", "PATCH", "PURGE"]
)
def test_what_the_server_sees_of_every_verb(tmp_path: Path, method: str) -> None:
    async def work() -> None:
        async with serving() as origin:
            tool = definition(
                origin.url + "/items/{id}?v=1", method, headers={"X-K": "{k}"}, header_only=True
            )
            result = await call(tmp_path, tool, {"id": "a/../b ü%\r\n", "k": "key", "n": 1, "flag": True})
            assert result.status == "ok"
            seen = origin.last
            query = method in ("GET", "HEAD", "OPTIONS", "TRACE", "DELETE")
            path = "/items/a%2F..%2Fb%20%C3%BC%25%0D%0A?v=1"
            assert seen.path == path + ("&n=1&flag=true" if query else "")
            assert seen.method == method
            assert seen.headers["host"] == f"127.0.0.1:{origin.port}"
            assert seen.headers["x-k"] == "key"
            if query:
                assert seen.body == b""
                assert "content-type" not in seen.headers
            else:
                assert seen.json == {"n": 1, "flag": True}
                assert seen.headers["content-type"] == "application/json"
            if method == "HEAD":
                assert result.value["status"] == 200
                assert result.value["headers"]["content-length"] == "18"

    run(work())


def test_a_whole_surface_over_one_resource(tmp_path: Path) -> None:
    """Create, read, list, change, replace, lock (a verb of its own) and delete; the server remembers."""
    notes: dict[str, dict[str, Any]] = {}
    locked: set[str] = set()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        name = request.path.removeprefix("/notes").strip("/")
        body = json.loads(await request.read() or b"{}")
        if request.method == "OPTIONS":
            return web.Response(headers={"Allow": "GET, POST, PUT, PATCH, DELETE, LOCK"})
        if request.method == "POST":
            notes[body["id"]] = body
            return web.json_response(body, status=201)
        if not name:
            found = [note for note in notes.values() if request.query.get("q", "") in note["text"]]
            return web.json_response(found)
        if name not in notes:
            return web.json_response({"error": "no such note"}, status=404)
        if request.method == "LOCK":
            locked.add(name)
            return web.json_response({"locked": name})
        if name in locked and request.method in ("PUT", "PATCH", "DELETE"):
            return web.Response(status=423, text="locked")
        if request.method == "DELETE":
            del notes[name]
            return web.Response(status=204)
        if request.method == "PUT":
            notes[name] = {"id": name, **body}
        if request.method == "PATCH":
            notes[name].update(body)
        return web.json_response(notes[name])

    def tool(name: str, method: str, path: str, *names: str) -> dict[str, Any]:
        properties = {item: {"type": "string"} for item in names}
        return {
            "name": f"notes.{name}.v1",
            "description": f"{name} notes.",
            "parameters": {"type": "object", "properties": properties},
            "url": f"{origin_url[0]}/notes{path}",
            "method": method,
        }

    origin_url = [""]

    async def work() -> None:
        async with serving(handle) as origin:
            origin_url[0] = origin.url
            path = tmp_path / "tools.json"
            path.write_text(
                json.dumps(
                    [
                        tool("create", "POST", "", "id", "text"),
                        tool("list", "GET", "", "q"),
                        tool("read", "GET", "/{id}", "id"),
                        tool("replace", "PUT", "/{id}", "id", "text"),
                        tool("change", "PATCH", "/{id}", "id", "tag"),
                        tool("remove", "DELETE", "/{id}", "id"),
                        tool("lock", "lock", "/{id}", "id"),
                        tool("options", "OPTIONS", "/{id}", "id"),
                        tool("exists", "HEAD", "/{id}", "id"),
                    ]
                )
            )
            steps: list[tuple[str, dict[str, Any], Any]] = [
                ("create", {"id": "a b", "text": "milk"}, {"id": "a b", "text": "milk"}),
                ("create", {"id": "ü/1", "text": "rice"}, {"id": "ü/1", "text": "rice"}),
                ("list", {}, [{"id": "a b", "text": "milk"}, {"id": "ü/1", "text": "rice"}]),
                ("list", {"q": "ric"}, [{"id": "ü/1", "text": "rice"}]),
                ("read", {"id": "ü/1"}, {"id": "ü/1", "text": "rice"}),
                ("read", {"id": "nope"}, "HTTP_4XX"),
                ("replace", {"id": "a b", "text": "tea"}, {"id": "a b", "text": "tea"}),
                ("change", {"id": "a b", "tag": "x"}, {"id": "a b", "text": "tea", "tag": "x"}),
                ("lock", {"id": "a b"}, {"locked": "a b"}),
                ("remove", {"id": "a b"}, "HTTP_4XX"),
                ("exists", {"id": "a b"}, 200),
                ("remove", {"id": "ü/1"}, 204),
                ("exists", {"id": "ü/1"}, "HTTP_4XX"),
                ("options", {"id": "a b"}, 200),
            ]
            policy = g.Policy.from_rules(
                [{"id": "notes", "match": {"tool": ["notes.*"]}, "decision": "allow", "reason": "OWN_NOTES"}]
            )
            async with g.Gateway(g.load_tools(path), policy=policy) as gate:
                for number, (name, arguments, wanted) in enumerate(steps):
                    result = await gate.call(f"notes.{name}.v1", arguments, run_id="r", step_id=number)
                    told = code(result) if result.error else result.value
                    if isinstance(wanted, int):
                        told = result.value["status"]
                    assert told == wanted, (number, name)
        assert notes == {"a b": {"id": "a b", "text": "tea", "tag": "x"}}

    run(work())
