"""What is sent where: encoding, what goes into the URL, headers, query and body. No server is needed."""

import json
from typing import Any

import pytest

import gerbang as g
from gerbang.adapters.tools.http_definition import read_definition
from gerbang.adapters.tools.http_request import Prepared, prepare

NAMES = ("id", "q", "n", "flag", "k", "deep")
BASE = "https://api.example.com"


def make(
    url: str, arguments: dict[str, Any], method: str = "GET", key: str | None = None, **fields: Any
) -> Prepared:
    definition = read_definition({"url": url, "method": method, **fields}, NAMES)
    return prepare(definition, arguments, tool="t", secret=lambda name: f"<{name}>", key=key)


def sent(url: str, arguments: dict[str, Any], method: str = "GET", **fields: Any) -> str:
    made = make(url, arguments, method, **fields)
    assert made.url.startswith(f"{BASE}:443/")
    return made.url.removeprefix(f"{BASE}:443")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Paris", "Paris"),
        ("a b", "a%20b"),
        ("a/b", "a%2Fb"),
        ("../admin", "..%2Fadmin"),
        ("..\\admin", "..%5Cadmin"),
        ("%2e%2e", "%252e%252e"),
        ("%2F", "%252F"),
        ("x?y=1&z#f", "x%3Fy%3D1%26z%23f"),
        ("a\r\nHost: evil", "a%0D%0AHost%3A%20evil"),
        ("a\0b", "a%00b"),
        ("München", "M%C3%BCnchen"),
        ("日本", "%E6%97%A5%E6%9C%AC"),
        ("@evil.example", "%40evil.example"),
        ("{q}", "%7Bq%7D"),
        ("${secret:KEY}", "%24%7Bsecret%3AKEY%7D"),
        ("a;b,c", "a%3Bb%2Cc"),
        ("...", "..."),
        (7, "7"),
        (1.5, "1.5"),
        (2**70, "1180591620717411303424"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ([1, "a"], "%5B1%2C%22a%22%5D"),
    ],
)
def test_a_value_stays_one_segment_and_one_parameter(value: Any, text: str) -> None:
    assert sent(BASE + "/items/{id}/x", {"id": value}) == f"/items/{text}/x"
    assert sent(BASE + "/items?id={id}&z=1", {"id": value}) == f"/items?id={text}&z=1"
    assert sent(BASE + "/items", {"id": value}) == f"/items?id={text}"


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_a_value_cannot_change_the_path(value: str) -> None:
    with pytest.raises(g.ToolError, match="'id' cannot be used: it would change the path") as caught:
        make(BASE + "/items/{id}/x", {"id": value})
    assert (caught.value.code, caught.value.effect) == ("BAD_VALUE", "none")
    assert sent(BASE + "/items/v{id}", {"id": value}) == f"/items/v{value}"
    assert sent(BASE + "/items?id={id}", {"id": value}) == f"/items?id={value}"


def test_two_values_cannot_join_to_dots() -> None:
    with pytest.raises(g.ToolError, match="it would change the path"):
        make(BASE + "/{id}{q}/x", {"id": ".", "q": "."})


@pytest.mark.parametrize(
    ("url", "arguments", "expected"),
    [
        ("", {}, "/"),
        ("?a=1", {}, "/?a=1"),
        ("/", {"q": "x"}, "/?q=x"),
        ("/a%20b/c d/ä?x=%C3%A4&y=ä z", {}, "/a%20b/c%20d/%C3%A4?x=%C3%A4&y=%C3%A4%20z"),
        ("/100%/x", {}, "/100%25/x"),
        ("/x#part", {}, "/x"),
        ("/x?q={q}&n=1", {}, "/x?n=1"),
        ("/x?q={q}&n=1", {"q": ""}, "/x?q=&n=1"),
        ("/x?{q}&n=1", {"q": "a=b"}, "/x?a%3Db&n=1"),
        ("/x?q={q}", {"q": "v", "n": 3, "flag": True}, "/x?q=v&n=3&flag=true"),
        ("/x", {"deep": {"a": [1, None]}}, "/x?deep=%7B%22a%22%3A%5B1%2Cnull%5D%7D"),
        ("/{id}/{id}", {"id": "a"}, "/a/a"),
        ("/{id}.json", {"id": "a"}, "/a.json"),
        ('/x?filter={"a":1}', {}, "/x?filter=%7B%22a%22:1%7D"),
    ],
)
def test_urls(url: str, arguments: dict[str, Any], expected: str) -> None:
    assert sent(BASE + url, arguments) == expected


def test_a_missing_argument_of_the_path() -> None:
    for url in ("/x/{id}", "/x?q=a{id}"):
        with pytest.raises(g.ToolError, match="'id' is missing") as caught:
            make(BASE + url, {})
        assert (caught.value.code, caught.value.effect) == ("MISSING_FIELD", "none")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE", "DELETE", "get", "Delete"])
def test_verbs_with_a_query(method: str) -> None:
    made = make(BASE + "/x/{id}", {"id": "a", "n": 1}, method)
    assert (made.method, made.url, made.body) == (method.upper(), f"{BASE}:443/x/a?n=1", None)
    assert "Content-Type" not in made.base


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "PURGE", "purge", "PROPFIND", "M-SEARCH"])
def test_verbs_with_a_body(method: str) -> None:
    made = make(BASE + "/x/{id}?v=1", {"id": "a", "n": 1, "deep": {"ä": [True, None]}}, method)
    assert (made.method, made.url) == (method.upper(), f"{BASE}:443/x/a?v=1")
    assert json.loads(made.body or b"") == {"n": 1, "deep": {"ä": [True, None]}}
    assert made.base["Content-Type"] == "application/json"
    assert make(BASE + "/x/{id}", {"id": "a"}, method).body == b"{}"


def test_the_method_is_post_when_none_is_given() -> None:
    definition = read_definition({"url": BASE}, NAMES)
    assert prepare(definition, {}, tool="t", secret=str).method == "POST"


@pytest.mark.parametrize("verb", ["GE T", "", "GET\n", "ПОСТ", "CONNECT", "a" * 65, "GET/1"])
def test_a_bad_verb(verb: str) -> None:
    if verb == "GET\n":  # white space round it is none of its letters
        assert make(BASE, {}, verb).method == "GET"
        return
    with pytest.raises(g.ToolError) as caught:
        make(BASE, {}, verb)
    assert str(caught.value) == f"invalid HTTP method '{verb}' for tool 't'"
    assert caught.value.effect == "none"


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (7, "7"), (1.5, "1.5"), (True, "true"), ("a b%2F/ü", "a b%2F/ü"), ("${secret:K}",) * 2],
)
def test_header_values(value: Any, text: str) -> None:
    made = make(BASE, {"k": value}, headers={"X-Key": "<{k}>", "Accept": "text/plain"})
    assert made.own == {"X-Key": f"<{text}>", "Accept": "text/plain"}
    assert "Accept" not in made.base


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "\0", "\x7f", "\x1b[1m", "\ud800", "x" * 9000])
def test_a_header_value_that_is_refused(value: str) -> None:
    with pytest.raises(g.ToolError) as caught:
        make(BASE, {"k": value}, headers={"X-Key": "{k}"})
    assert (caught.value.code, caught.value.effect) == ("BAD_VALUE", "none")


def test_header_arguments_are_sent_again_unless_the_file_says_not() -> None:
    headers = {"X-Key": "{k}"}
    arguments = {"k": "a", "n": 1}
    assert sent(BASE, arguments, headers=headers) == "/?k=a&n=1"
    assert sent(BASE, arguments, headers=headers, header_only=True) == "/?n=1"
    assert sent(BASE + "/{k}", arguments, headers=headers) == "/a?n=1"
    assert json.loads(make(BASE, arguments, "POST", headers=headers).body or b"") == arguments
    only = make(BASE, arguments, "POST", headers=headers, header_only=True)
    assert json.loads(only.body or b"") == {"n": 1}


def test_a_header_without_its_argument_is_left_out() -> None:
    made = make(BASE, {}, headers={"X-Key": "{k}", "X-Fixed": "1"})
    assert made.own == {"X-Fixed": "1"}
    with pytest.raises(g.ToolError, match="'k' is missing"):
        make(BASE, {}, headers={"X-Key": "Bearer {k}"})


def test_secrets_in_headers() -> None:
    made = make(BASE, {}, headers={"Authorization": "Bearer ${secret:KEY}", "X": '{"a": 1}'})
    assert made.own == {"Authorization": "Bearer <KEY>", "X": '{"a": 1}'}
    definition = read_definition({"url": BASE, "headers": {"A": "${secret:KEY}"}}, NAMES)
    with pytest.raises(g.ToolError, match="the secret KEY has a line break") as caught:
        prepare(definition, {}, tool="t", secret=lambda _: "hunter2\nX: y")
    assert "hunter2" not in str(caught.value)


def test_the_idempotency_key() -> None:
    assert make(BASE, {}, "POST", key="abc").own == {"Idempotency-Key": "abc"}
    own = make(BASE, {}, "POST", key="abc", headers={"idempotency-key": "{k}"})
    assert own.own == {"Idempotency-Key": "abc"}
    mine = read_definition({"url": BASE, "headers": {"idempotency-key": "{k}"}}, NAMES)
    assert prepare(mine, {"k": "own"}, tool="t", secret=str, key="abc").own == {"idempotency-key": "own"}


def test_a_url_may_not_grow_without_bound() -> None:
    with pytest.raises(g.ToolError, match="longer than 16384"):
        make(BASE, {"q": "x" * 20_000})
