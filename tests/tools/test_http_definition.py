"""Files of tools: what loads, what is advised, and what each fault is told."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.adapters.tools.contract_files import load_contracts
from gerbang.adapters.tools.http_file import read_tools
from tests.tools.origin import definition, write

URL = "https://api.example.com/items"


def test_the_defaults(tmp_path: Path) -> None:
    (tool,) = g.load_tools(write(tmp_path, {"name": "ping", "description": "Pings.", "url": URL}))
    contract = tool.contract
    assert (contract.name, contract.description, contract.risk) == ("ping", "Pings.", "write_external")
    assert contract.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert (contract.timeout_s, contract.origin, contract.secrets) == (15.0, "tools.json[0] 'ping'", ())
    assert tool.definition.method == "POST"
    assert tool.notes == ()


@pytest.mark.parametrize(
    ("method", "risk"),
    [
        *((verb, "read_external") for verb in ("GET", "head", "Options", "TRACE")),
        *((verb, "write_external") for verb in ("POST", "put", "PATCH", "DELETE", "PURGE", "GE T", "SEARCH")),
    ],
)
def test_the_class_goes_by_the_verb(tmp_path: Path, method: str, risk: str) -> None:
    (tool,) = g.load_tools(write(tmp_path, definition(URL, method)))
    assert tool.contract.risk == risk
    (tool,) = g.load_tools(write(tmp_path, definition(URL, method, risk="destructive")))
    assert tool.contract.risk == "destructive"


def test_contract_fields_beside_the_request(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "risk": "transactional",
        "returns": {"type": "object"},
        "timeout_s": 3,
        "result_max_chars": 100,
        "natural_key": ["id"],
        "sensitive": ["q"],
        "intents": ["shop"],
        "cost_units": 2,
    }
    tool = g.load_tools(write(tmp_path, definition(URL, headers={"X": "{k}"}, **more)))[0]
    contract = tool.contract
    assert (contract.timeout_s, contract.result_max_chars, contract.cost_units) == (3.0, 100, 2.0)
    assert contract.natural_key == ("id",)
    assert contract.intents == {"shop"}
    assert contract.sensitive == {"q", "k"}
    assert contract.returns == {"type": "object"}


def test_the_digest_covers_the_request(tmp_path: Path) -> None:
    base = definition(URL)
    changed: list[dict[str, Any]] = [
        base,
        definition(URL + "2"),
        definition(URL, "HEAD"),
        definition(URL, headers={"A": "b"}),
        definition(URL, header_only=True),
        definition(URL, headers={"A": "${secret:KEY}"}),
    ]
    digests = {g.load_tools(write(tmp_path, item))[0].contract.digest for item in changed}
    assert len(digests) == len(changed)


@pytest.mark.parametrize("told", [{}, {"description": ""}, {"description": " \n"}])
def test_a_tool_without_a_description_loads_with_a_warning(
    tmp_path: Path, told: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    item = {"name": "get_item", "url": "https://api.example.com/items?token=t0p", "method": "get", **told}
    tool = g.load_tools(write(tmp_path, item))[0]
    assert tool.contract.description == "Sends GET to api.example.com."
    assert "there is no description" in tool.notes[0]
    assert "[0] 'get_item': there is no description" in caplog.text


FAULTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"urll": "x"}, ["urll", "no such field", "did you mean 'url'?"]),
    ({"name": None}, ["[0]: name", "missing"]),
    ({"description": 5}, ["description", "must be text"]),
    ({"description": None}, ["description", "must be text"]),
    ({"name": "two words"}, ["'two words' is not a tool name"]),
    ({"url": None}, ["url: the field url is missing"]),
    ({"url": "/items"}, ["url", "must begin with http:// or https://"]),
    ({"url": "{id}"}, ["url", "must begin with"]),
    ({"url": "https://{id}.example.com/"}, ["url", "no placeholder", "scheme, host or port"]),
    ({"url": "https://api.example.com:{n}/"}, ["url", "no placeholder"]),
    ({"url": "https://api.example.com{id}/"}, ["url", "no placeholder"]),
    ({"url": "{id}://api.example.com"}, ["url", "must begin with"]),
    ({"url": "ftp://example.com/"}, ["url", "ftp"]),
    ({"url": "file:///etc/passwd"}, ["url", "file"]),
    ({"url": "https://ana:pw@example.com/"}, ["url", "user name or password"]),
    ({"url": "https://example.com:99999/"}, ["url", "no valid host or port"]),
    ({"url": "https://example.com:0/"}, ["url", "port 0"]),
    ({"url": "https:///x"}, ["url", "no host name"]),
    ({"url": "https://exämple.com/"}, ["url", "characters"]),
    ({"url": "https://example.com\\@evil/"}, ["url", "characters"]),
    ({"url": "http://2130706433/"}, ["url", "unusual writing"]),
    ({"url": "http://0x7f.1/"}, ["url", "unusual writing"]),
    ({"url": "http://0177.0.0.1/"}, ["url", "unusual writing"]),
    ({"url": "http://127.1/"}, ["url", "unusual writing"]),
    ({"url": URL + "/{idd}"}, ["url: {idd} is not one of the parameters", "did you mean 'id'?"]),
    ({"url": URL + "/${secret:KEY}"}, ["url", "secrets may stand in the values of headers only"]),
    ({"url": URL + "?k=${secret:KEY}"}, ["url", "secrets may stand in the values of headers only"]),
    ({"url": URL + "/" + "x" * 17_000}, ["url", "longer than 16384"]),
    ({"method": 5}, ["method", "must be text"]),
    ({"headers": ["A"]}, ["headers", "must be an object", "a list"]),
    ({"headers": {"A": 5}}, ["headers", "the header A must be text"]),
    ({"headers": {"A B": "x"}}, ["headers", "'A B' is no name of a header"]),
    ({"headers": {"A{k}": "x"}}, ["headers", "is no name of a header"]),
    ({"headers": {"A": "x\r\nB: y"}}, ["headers", "line break"]),
    ({"headers": {"A": "x", "a": "y"}}, ["headers", "twice"]),
    ({"headers": {"Host": "evil.example"}}, ["headers", "Host belongs to the connection"]),
    ({"headers": {"transfer-encoding": "chunked"}}, ["headers", "belongs to the connection"]),
    ({"headers": {"A": "{kk}"}}, ["headers: in the header A: {kk} is not one of the parameters", "'k'"]),
    ({"headers": {"A": "${secret:two words}"}}, ["headers", "cannot name a secret"]),
    ({"headers": {"A": "${env:HOME}"}}, ["headers", "is no placeholder", "${secret:NAME}"]),
    ({"header_only": "yes"}, ["header_only", "true or false"]),
    ({"parameters": []}, ["parameters", "JSON Schema"]),
    ({"parameters": {"type": "array"}}, ["parameters", '"type": "object"']),
    ({"parameters": {"properties": {"id": {"type": "strin"}}}}, ["strin"]),
    ({"risk": "harmless"}, ["harmless"]),
    ({"timeout_s": -1}, ["timeout_s"]),
    ({"natural_key": ["nope"]}, ["natural_key", "nope"]),
    ({"sensitive": "q"}, ["sensitive"]),
]


@pytest.mark.parametrize(("change", "words"), FAULTS)
def test_what_a_fault_is_told(tmp_path: Path, change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(g.ContractError) as caught:
        g.load_tools(write(tmp_path, {**definition(URL), **change}))
    said = str(caught.value)
    assert said.startswith("tools.json[0]")
    for word in words:
        assert word in said
    assert "\n" not in said


def test_every_fault_of_every_tool_is_told_at_once(tmp_path: Path) -> None:
    tools = [definition(URL), definition("x"), definition(URL, name="fine"), {"name": "a"}, definition(URL)]
    with pytest.raises(g.ContractError) as caught:
        g.load_tools(write(tmp_path, *tools))
    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "tools.json[1] 'the_tool'",
        "tools.json[3] 'a'",
        "tools.json[4] 'the_tool'",
    ]
    assert "the same name" in lines[2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{}", "must be a JSON array"),
        (b"[]", "holds no tool"),
        (b"[1]", "x[0]: (tool): a tool must be an object"),
        (b"[", "not JSON"),
        (b"nope", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'[{"name": "a", "name": "b"}]', "member 'name' twice"),
        (json.dumps([1] * 1_001).encode(), "the limit is 1000"),
    ],
)
def test_data_that_is_no_file_of_tools(data: bytes, words: str) -> None:
    with pytest.raises(g.ContractError) as caught:
        read_tools(data, origin="x")
    assert words in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, words in [(tmp_path / "none.json", "There is no file of tools"), (tmp_path, "cannot be read")]:
        with pytest.raises(g.ConfigError, match=words):
            g.load_tools(path)


def test_a_byte_order_mark_is_no_part_of_the_file() -> None:
    data = b"\xef\xbb\xbf" + json.dumps([definition(URL)]).encode()
    assert len(read_tools(data, origin="x")) == 1


def test_definitions_that_come_by_request_name_no_secrets() -> None:
    data = json.dumps([definition(URL, headers={"A": "${secret:KEY}"})]).encode()
    assert read_tools(data, origin="x")[0].contract.secrets == ("KEY",)
    with pytest.raises(g.ContractError, match="may not name secrets"):
        read_tools(data, origin="x", may_name_secrets=False)


@pytest.mark.parametrize(
    ("method", "risk", "loads"),
    [
        ("GET", "read_external", True),
        ("GET", "destructive", True),
        ("GET", "read_internal", False),
        ("GET", "compute", False),
        ("POST", "write_external", True),
        ("POST", "transactional", True),
        ("POST", "write_internal", False),
        ("POST", "read_external", False),
    ],
)
def test_definitions_that_come_by_request_can_only_raise_their_class(
    method: str, risk: str, loads: bool
) -> None:
    data = json.dumps([definition(URL, method, risk=risk)]).encode()
    assert read_tools(data, origin="x")[0].defined_by == "file"
    if loads:
        for approved, place in ((False, "unapproved"), (True, "request")):
            (tool,) = read_tools(data, origin="x", trusted=False, approved=approved)
            assert (tool.contract.risk, tool.defined_by) == (risk, place)
        return
    with pytest.raises(g.ContractError, match="risk: a definition that comes by request can only raise"):
        read_tools(data, origin="x", trusted=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "GE T"}, "'GE T' is not an HTTP method"),
        ({"headers": {"X": "{k}"}}, "the argument 'k' goes into a header; if it is a credential, use"),
        ({"headers": {"Authorization": "Bearer abc"}}, "the header Authorization holds a literal value"),
        ({"headers": {"X-API-Key": "abc"}}, "the header X-API-Key holds a literal value"),
        ({"url": "http://example.com", "headers": {"A": "${secret:K}"}}, "secrets travel unencrypted"),
    ],
)
def test_what_is_advised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: dict[str, Any], words: str
) -> None:
    caplog.set_level(logging.WARNING, "gerbang.tools")
    (tool,) = g.load_tools(write(tmp_path, {**definition(URL), **change}))
    (note,) = tool.notes
    assert words in note
    assert words in caplog.text
    assert "tools.json[0] 'the_tool'" in caplog.text


def test_what_a_person_is_shown(tmp_path: Path) -> None:
    headers = {"Authorization": "Bearer ${secret:KEY}", "X-K": "{k}", "X-Token": "abc"}
    (tool,) = g.load_tools(write(tmp_path, definition(URL + "/{id}", "PUT", headers=headers)))
    assert tool.show_request({"id": "a b", "k": "hush", "n": 1}).splitlines() == [
        "PUT https://api.example.com:443/items/a%20b",
        "Authorization: Bearer ${secret:KEY}",
        "X-K: [redacted]",
        "X-Token: [redacted]",
        "",
        '{"k":"[redacted]","n":1}',
    ]
    assert asyncio.run(tool.previewer(id="..", n=1)).startswith(
        "Nothing would be sent: the value of 'id' cannot"
    )
    assert repr(tool) == "<tool the_tool: PUT https://api.example.com:443>"


def test_a_request_as_the_body_of_a_contract(tmp_path: Path) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text(
        "name: notes.read.v1\nrisk: read_external\ndescription: Reads a note.\n"
        "parameters: {type: object, properties: {id: {type: string}, k: {type: string}}, required: [id]}\n"
        f"http: {{url: '{URL}/{{id}}', method: GET, headers: {{A: '${{secret:KEY}}', B: '{{k}}'}}}}\n"
    )
    (tool,) = load_contracts(path)
    assert (tool.contract.secrets, tool.contract.sensitive) == (("KEY",), {"k"})
    assert tool.show_request({"id": "x", "k": "hush"}).startswith("GET https://api.example.com:443/items/x")
    path.write_text(path.read_text().replace("{id}", "{idd}"))
    with pytest.raises(g.ContractError, match=r"http.url: \{idd\} is not one of the parameters"):
        load_contracts(path)
    path.write_text(path.read_text().replace("method:", "metod:"))
    with pytest.raises(g.ContractError, match=r"http.metod: there is no such field; did you mean 'method'"):
        load_contracts(path)


@pytest.mark.parametrize(
    ("more", "field", "value"),
    [
        ({"timeout_ms": 2_500}, "timeout_s", 2.5),
        ({"honours_key": True}, "honours_key", True),
        ({"idle_timeout_s": 3}, "idle_timeout_s", 3.0),
        ({"side_effects": {"kind": "row_changed", "reversible": "yes"}}, "side_effects.reversible", "yes"),
        ({"retry": {"max_attempts": 2}}, "retry.max_attempts", 2),
        ({"control": ["id"]}, "control", {"id"}),
        ({"deprecated": True}, "deprecated", True),
    ],
)
def test_every_field_of_a_contract_may_stand_there(
    tmp_path: Path, more: dict[str, Any], field: str, value: Any
) -> None:
    found: Any = g.load_tools(write(tmp_path, definition(URL, "PUT", **more)))[0].contract
    for name in field.split("."):
        found = getattr(found, name)
    assert found == value


@pytest.mark.parametrize("field", ["secrets", "body", "runtime_fields", "key_argument", "python", "http"])
def test_fields_that_are_not_for_a_file_of_tools(tmp_path: Path, field: str) -> None:
    with pytest.raises(g.ContractError, match=f"{field}: there is no such field"):
        g.load_tools(write(tmp_path, {**definition(URL), field: []}))
