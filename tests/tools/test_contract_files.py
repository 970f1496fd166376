"""Contracts from files: the same contract by every route, and every fault with its place."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

import gerbang as g
from gerbang.adapters.tools.contract_files import contract_schema, load_contract, load_contracts
from gerbang.adapters.tools.declared import with_bodies
from gerbang.contract.document import Argument
from gerbang.errors import ConfigError, ContractError
from gerbang.values.contract_parts import (
    Check,
    Condition,
    Exposure,
    Guidance,
    Probe,
    Rate,
    ResourceRef,
    Retry,
    SideEffects,
)

from . import contract_bodies

BODIES = "tests.tools.contract_bodies"
YAML = f"""
name: payments.pay.v2
risk: transactional
description: Pays a supplier.
guidance:
  when_to_use: The user names a supplier and an amount.
  when_not: For refunds.
  alternatives: [payments.refund.v1]
parameters:
  type: object
  properties:
    account: {{type: string, maxLength: 34}}
    amount: {{type: integer, minimum: 1, maximum: 100000}}
  required: [account, amount]
arguments:
  account: {{role: control, sensitive: true, resource: {{kind: account, tenant_prefix: "{{tenant}}-"}}}}
  amount: {{role: control}}
  tenant: {{role: runtime}}
side_effects:
  kind: money_moved
  resources: [account]
  reversible: partially
  compensating_action: payments.refund.v1
  idempotency_required: true
  default_requires_approval: true
timeout_ms: 2500
retry: {{max_attempts: 2, retry_on: [timeout]}}
honours_key: true
key_argument: key
probe:
  tool: payments.find.v1
  arguments: {{key: "@key"}}
  values: {{kind: payment}}
  happened: {{test: equals, path: /state, value: booked}}
  not_happened: {{test: error, value: NOT_FOUND}}
natural_key: [account, amount]
concurrency: 2
rate: {{calls: 10, per_s: 60}}
cost_units: 1.5
cancellation: finishes
error_categories: [conflict, upstream_error]
owner: payments team
data_class: confidential
scopes: [payments]
validators: [{{name: bounds, options: {{field: amount, max: 1000}}}}]
facts: [money]
intents: [pay]
replaced_by: payments.pay.v3
deprecated: true
python: {BODIES}:pay
"""


@g.tool(
    name="payments.pay.v2",
    risk="transactional",
    description="Pays a supplier.",
    guidance=Guidance(
        when_to_use="The user names a supplier and an amount.",
        when_not="For refunds.",
        alternatives=("payments.refund.v1",),
    ),
    runtime_fields=["tenant"],
    side_effects=SideEffects(
        kind="money_moved",
        resources=("account",),
        reversible="partially",
        compensating_action="payments.refund.v1",
        idempotency_required=True,
        default_requires_approval=True,
    ),
    timeout_s=2.5,
    retry=Retry(max_attempts=2, retry_on=frozenset({"timeout"})),
    honours_key=True,
    key_argument="key",
    probe=Probe(
        tool="payments.find.v1",
        arguments={"key": "@key"},
        values={"kind": "payment"},
        happened=Condition("equals", "booked", "/state"),
        not_happened=Condition("error", "NOT_FOUND"),
    ),
    natural_key=["account", "amount"],
    concurrency=2,
    rate=Rate(10, 60),
    cost_units=1.5,
    cancellation="finishes",
    error_categories=["conflict", "upstream_error"],
    owner="payments team",
    data_class="confidential",
    scopes={"payments"},
    validators=[Check("bounds", {"field": "amount", "max": 1000})],
    facts=["money"],
    expose=Exposure(intents=frozenset({"pay"})),
    replaced_by="payments.pay.v3",
    deprecated=True,
)
def pay(
    account: Annotated[
        str,
        Meta(max_length=34),
        Argument("control", sensitive=True, resource=ResourceRef("account", "{tenant}-")),
    ],
    amount: Annotated[int, Meta(ge=1, le=100_000), Argument("control")],
    tenant: str,
    key: str,
    context: g.CallContext,
) -> dict[str, object]:
    """Pays."""
    return contract_bodies.pay(account, amount, tenant, key, context)


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of this name and return its path."""

    def put(text: str, name: str = "tools.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return put


def only(path: Path) -> Any:
    (found,) = load_contracts(path)
    return found


def minimal(**fields: Any) -> dict[str, Any]:
    return {"name": "a.b.v1", "risk": "compute", "description": "Does it.", **fields}


def test_one_contract_by_four_routes(write: Write) -> None:
    from_yaml = only(write(YAML))
    fields = load_contract(str(write(YAML)))
    as_json = json.dumps(_fields(YAML))
    from_json = only(write(as_json, "tools.json"))
    listed = only(write(f"[{as_json}]", "list.json"))
    assert from_yaml.contract.digest == pay.contract.digest
    assert from_json.contract.digest == listed.contract.digest == pay.contract.digest
    assert {**_plain(from_yaml.contract), "origin": ""} == {**_plain(pay.contract), "origin": ""}
    written = g.tool(contract=fields)(contract_bodies.pay)
    assert written.contract.digest == pay.contract.digest
    assert fields.digest != pay.contract.digest  # it does not know yet that the function takes a context


REQUEST = {
    "url": "https://api.example.com/tickets/{ticket}",
    "method": "GET",
    "headers": {"Authorization": "Bearer ${secret:KEY}", "X-Team": "{team}"},
}
HTTP = {
    "name": "tickets.get.v1",
    "risk": "read_external",
    "description": "Reads a ticket.",
    "parameters": {
        "properties": {"ticket": {"type": "string"}, "team": {"type": "string"}},
        "required": ["ticket", "team"],
    },
    "arguments": {"ticket": {"role": "control"}},
    "retry": {"max_attempts": 1},
    "timeout_s": 15,
    "scopes": ["tickets"],
    "guidance": {"when_not": "for lists"},
}


def test_an_http_tool_by_three_routes(write: Write) -> None:
    from_tools = g.load_tools(write(json.dumps([{**HTTP, **REQUEST}]), "tools.json"))[0].contract
    from_json = only(write(json.dumps({**HTTP, "http": REQUEST}), "contract.json")).contract
    as_yaml = "".join(f"{name}: {json.dumps(value)}\n" for name, value in {**HTTP, "http": REQUEST}.items())
    from_yaml = only(write(as_yaml)).contract
    assert from_tools.digest == from_json.digest == from_yaml.digest
    assert (from_yaml.secrets, from_yaml.sensitive) == (("KEY",), {"team"})
    elsewhere = {**REQUEST, "url": "https://other.example.com/tickets/{ticket}"}
    moved = only(write(json.dumps({**HTTP, "http": elsewhere}), "moved.json")).contract
    assert moved.digest != from_json.digest


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({}, "http.url: the field url is missing"),
        ({**REQUEST, "verb": "GET"}, "http.verb: there is no such field"),
        ({**REQUEST, "url": "https://api.example.com/{other}"}, "other"),
        ({**REQUEST, "url": "ftp://api.example.com/"}, "http.url:"),
    ],
)
def test_requests_that_cannot_be_made(write: Write, request_: dict[str, Any], says: str) -> None:
    with pytest.raises(ContractError) as caught:
        load_contracts(write(json.dumps({**HTTP, "http": request_}), "a.json"))
    assert says in str(caught.value)
    assert "a.json" in str(caught.value)


def _fields(text: str) -> Any:
    from gerbang.values.yamltext import read_yaml

    return read_yaml(text, "x")


def _plain(contract: Any) -> dict[str, Any]:
    return {name: getattr(contract, name) for name in contract.__struct_fields__}


def test_the_runtime_fills_what_the_contract_gives_it(write: Write) -> None:
    tool = only(write(YAML))
    assert tool.contract.runtime_fields == {"tenant", "key", "context"}
    context = g.CallContext(g.Principal("ana", "acme"), "r", 1, "c", "key-1")
    found = tool.invoke_sync({"account": "acme-1", "amount": 5}, context)
    assert found == {"to": "acme-1", "amount": 5, "tenant": "acme", "key": "key-1", "user": "ana"}


def test_parameters_come_from_the_function_when_the_file_has_none(write: Write) -> None:
    tool = only(write(json.dumps(minimal(python=f"{BODIES}:forecast")), "a.json"))
    city = {"type": "string", "description": "Name of the city."}
    assert tool.contract.parameters["properties"] == {"city": city, "days": {"type": "integer", "default": 3}}
    assert (tool.contract.control, tool.contract.resources) == ({"city"}, {"city": ResourceRef("place")})


def test_a_decorated_function_lends_its_body(write: Write) -> None:
    tool = only(write(json.dumps(minimal(python=f"{BODIES}:decorated")), "a.json"))
    assert (tool.contract.name, tool("x")) == ("a.b.v1", "x")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"python": "nothing.here:f"}, "python: there is no module nothing. Is its package installed"),
        ({"python": f"{BODIES}:absent"}, f"python: the module {BODIES} has no absent"),
        ({"python": f"{BODIES}:NOT_A_FUNCTION"}, "is not a function"),
        ({"python": f"{BODIES}:Annotated"}, "is not a function"),
        ({"python": "os.system('x')"}, "is not of the form package.module:function"),
        ({"python": "tests.tools.broken_on_import:f"}, "cannot be imported: RuntimeError: no database here"),
        (
            {"python": f"{BODIES}:pay", "http": {"url": "https://a.example"}},
            "python or http, not both",
        ),
        ({"python": f"{BODIES}:pay"}, "nothing fills"),
        (
            {"python": f"{BODIES}:forecast", "parameters": {"properties": {"town": {"type": "string"}}}},
            "has the parameter 'town', which the function does not take",
        ),
        (
            {"python": f"{BODIES}:forecast", "parameters": {"properties": {"city": {"type": "string"}}}},
            "does not require 'city'. Give the function's parameter a default",
        ),
        (
            {
                "python": f"{BODIES}:forecast",
                "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]},
            },
            "does not say of 'city' what its Argument mark says",
        ),
        ({"secrets": ["KEY"], "python": f"{BODIES}:forecast"}, "no way to ask for them"),
        ({"url": "https://a.example"}, "this looks like a file of HTTP tools; read it with load_tools"),
    ],
)
def test_bodies_that_do_not_fit(write: Write, fields: dict[str, Any], says: str) -> None:
    if fields.get("python", "").endswith(":pay") and "http" not in fields:
        fields = {**fields, "runtime_fields": ["account"]}
    path = write(json.dumps(minimal(**fields)), "a.json")
    with pytest.raises(ContractError) as caught:
        load_contracts(path)
    assert str(caught.value).startswith(str(path))
    assert says in str(caught.value)


HEAD = "name: a.b.v1\nrisk: compute\ndescription: x\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("+timeout: 3", "tools.yaml: timeout: unknown field (did you mean timeout_s?)."),
        (
            "+guidance: {when_to_us: x}",
            "guidance.when_to_us: unknown field (did you mean when_to_use?)",
        ),
        (
            "+retry: {max_attempts: many}",
            "retry.max_attempts: must be a whole number from 1 to 10, not 'many'",
        ),
        ("+retry: {retry_on: [timout]}", "retry.retry_on[0]: must be one of rate_limited, timeout"),
        (
            "+arguments: {to: {role: controll}}",
            "arguments.to.role: must be one of content, control, runtime",
        ),
        ("+arguments: {to: {role: control}}", "control names 'to', which is not a parameter"),
        (
            "+side_effects: {kind: mail, reversible: true}",
            "side_effects.reversible: must be one of no",
        ),
        ("+side_effects: {kind: mail}", "the class compute changes nothing"),
        ("+validators: [{nam: x}]", "validators[0].nam: unknown field (did you mean name?)"),
        ("+scopes: weather", "scopes: must be a list of words, not 'weather'"),
        (
            "+data_class: secret",
            "data_class: must be one of confidential, internal, public, restricted",
        ),
        (
            "+error_categories: [timeot]",
            "'timeot' is no error type (did you mean timeout?)",
        ),
        ("+timeout_ms: 10\ntimeout_s: 2", "timeout_s and timeout_ms say the same"),
        ("+idle_timeout_s: 31", "idle_timeout_s is above the time-out of the whole call"),
        ("+retry: {base_ms: 9, max_ms: 8}", "retry.base_ms is above retry.max_ms"),
        ("+intents: [a]\nexpose: {intents: [b]}", "intents and expose.intents say the same"),
        ("+replaced_by: a.b.v1", "replaced_by names the tool itself"),
        ("+guidance: {alternatives: ['a b']}", "guidance.alternatives: 'a b' is not a tool name"),
        ("+parameters: {properties: {a: {$ref: 'http://127.0.0.1:9/x'}}}", "refused"),
        ("+parameters: {properties: {a: {$ref: 'file:///etc/passwd'}}}", "refused"),
        ("+parameters: {properties: {a: {$ref: '#/properties/a'}}}", "leads back to itself"),
        ("+parameters: {properties: {a: {pattern: '(a+)+(?=b)'}}}", "cannot be used"),
        ("+parameters: {properties: {a: {pattern: '((a{99}){99}){99}'}}}", "cannot be used"),
        (
            "+parameters: {properties: {a: {minimum: 2, maximum: 1}}}",
            "contradicts itself: /properties/a",
        ),
        ("+  risk: x", "tools.yaml: line 4, column 7"),
        ("+name: again", "tools.yaml: line 4, column 1: the key 'name' stands here twice"),
        ("+x: &a [1]\ny: *a", "line 4, column 4: anchors and aliases are not allowed"),
        ("+deprecated: yes", "line 4, column 13: 'yes' can be read in two ways"),
        ("- 1", "tools.yaml, item 1: a contract is a mapping of fields"),
        ("just text", "a contract is a mapping of fields"),
        (f"{HEAD}---\n{HEAD}---\nname: c.v1\n", "tools.yaml, line 8: risk: missing"),
    ],
)
def test_faults_of_a_file(write: Write, text: str, says: str) -> None:
    path = write(HEAD + text[1:] if text[0] == "+" else text)
    with pytest.raises(ContractError) as caught:
        load_contracts(path)
    assert str(path) in str(caught.value)
    assert says in str(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"name": 1,}', "a.json: line 1, column 12: "),
        ('{"a": 1, "a": 2}', "a.json: the key 'a' stands twice in one object"),
        ("[" * 100_000, "a.json: this is not usable JSON"),
        ("", "a.json: line 1, column 1"),
    ],
)
def test_faults_of_json(write: Write, text: str, says: str) -> None:
    with pytest.raises(ContractError) as caught:
        load_contracts(write(text, "a.json"))
    assert says in str(caught.value)


def test_a_schema_of_a_megabyte_and_a_file_that_is_too_large(write: Write) -> None:
    large = {"properties": {"a": {"description": "x" * 1_100_000}}}
    with pytest.raises(ContractError, match="the limit is 1048576"):
        load_contracts(write(json.dumps(minimal(parameters=large)), "a.json"))
    with pytest.raises(ContractError, match="the file is larger than 4000000 bytes"):
        load_contracts(write("#" * 4_000_001))


def test_all_faults_of_a_folder_at_once(write: Write) -> None:
    folder = write("risk: compute\n", "a/one.yaml").parent
    write("x: [", "a/deeper/two.yml")
    write("{", "a/three.json")
    write("name: d", "a/.hidden/four.yaml")
    write("not read", "a/readme.md")
    with pytest.raises(ContractError) as caught:
        load_contracts(folder)
    lines = str(caught.value).splitlines()
    assert [Path(line.split(":")[0]).name for line in lines] == ["two.yml", "one.yaml", "three.json"]


def test_a_folder_without_contracts_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no contract"):
        load_contracts(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_contracts(tmp_path / "none.yaml")


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"name: \xff")
    with pytest.raises(ContractError, match="not UTF-8 text at byte 6"):
        load_contracts(tmp_path)


BARE = """
name: notes.add.v1
risk: write_internal
description: Adds a note.
parameters: {properties: {text: {type: string}}, required: [text]}
---
name: notes.add.v0
risk: write_internal
description: Added a note.
retired: true
replaced_by: notes.add.v1
"""


def test_a_bare_contract_meets_its_function(write: Write) -> None:
    path = write(BARE)

    @g.tool(contract=f"{path}#notes.add.v1")
    def add(text: str, context: g.CallContext) -> str:
        return text

    bare = load_contracts(path)
    assert [tool.contract.name for tool in with_bodies([*bare, add])] == ["notes.add.v0", "notes.add.v1"]
    assert with_bodies([add, *bare])[0] is add
    with pytest.raises(ContractError, match=r"notes.add.v1 has no body: add python: or http: to the file"):
        with_bodies(bare)
    with pytest.raises(ContractError, match=r"holds 2 contracts; say which one: .*#NAME"):
        g.tool(contract=str(path))(add.function)
    with pytest.raises(ContractError, match=r"there is no contract 'x'"):
        g.tool(contract=f"{path}#x")(add.function)
    with pytest.raises(ContractError, match="not both"):
        g.tool(name="a.v1", contract=bare[0])  # type: ignore[call-overload]
    with pytest.raises(ContractError, match="takes a loaded contract, or the path"):
        g.tool(contract=3)(add.function)  # type: ignore[call-overload]


def test_pinning_is_asked_for_by_file(write: Write) -> None:
    path = write(YAML)
    assert [tool.pinned for tool in load_contracts(path)] == [False]
    assert [tool.pinned for tool in load_contracts(path, pin=True)] == [True]


def test_the_shipped_schema_is_that_of_the_structure() -> None:
    shipped = files("gerbang.adapters.tools").joinpath("contract.schema.json").read_text("utf-8")
    made = msgspec.json.format(msgspec.json.encode(contract_schema()), indent=2).decode()
    assert shipped == made + "\n", "write what contract_schema() returns to contract.schema.json"


def test_the_schema_for_editors_takes_what_the_loader_takes() -> None:
    from gerbang.contract.schema import compile_schema

    validator = compile_schema(contract_schema(), "contract.schema.json")
    validator.validate(_fields(YAML))
    validator.validate([_fields(YAML)])
    assert not validator.is_valid({**_fields(YAML), "timeout": 3})
    assert not validator.is_valid({**_fields(YAML), "retry": {"max_attempts": 0}})
    assert not validator.is_valid({"name": "a"})
