"""Whatever stands in a contract file, loading it gives a contract or a ContractError: nothing else."""

import contextlib
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gerbang.adapters.tools.contract_files import load_contracts
from gerbang.contract.build import contract_of
from gerbang.contract.document import ContractDocument, read_document
from gerbang.errors import ContractError
from gerbang.values import Contract

KEYWORDS = """
type object string properties required $ref # #/properties/a $defs enum anyOf not if minimum maximum pattern
(a+)+$ additionalProperties items a control runtime role resource kind tool test path value happened name
"""
WORDS = sorted({*KEYWORDS.split(), *ContractDocument.__struct_fields__})
WORD = st.sampled_from(WORDS) | st.text(max_size=5)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORD, inner, max_size=4),
    max_leaves=12,
)
BASE = {"name": "a.b.v1", "risk": "write_external", "description": "Does it."}
SCHEMA = st.fixed_dictionaries(
    {"properties": st.dictionaries(WORD, VALUE, max_size=3)}, optional={"$defs": VALUE}
)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(ContractDocument.__struct_fields__), VALUE, max_size=4), SCHEMA | VALUE
)
@example({"returns": {"$ref": "#"}}, {})
@example({}, {"properties": {"a": {"$ref": "#/properties/a/b"}}})
@example({}, {"properties": {"a": True}, "required": ["a"]})
@example({"expose": {"intents": ["\ud800"]}}, {})
@example({"probe": {"tool": "\ud800", "happened": {"test": "in"}, "not_happened": {"test": "in"}}}, {})
@example({"cost_units": 10**400}, {})
def test_any_fields(fields: dict[str, Any], parameters: Any) -> None:
    with contextlib.suppress(ContractError):
        document = read_document({**BASE, "parameters": parameters, **fields}, "here", ContractDocument)
        assert isinstance(contract_of(document, "here"), Contract)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("abc: -[]{}'\"&*!|>#%@\n\t?,0159.\\\ud800\x00éÿ"), max_size=60))
def test_any_text(tmp_path: Path, text: str) -> None:
    for name in ("a.yaml", "a.json"):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(ContractError):
            load_contracts(path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUE)
def test_any_json(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    with contextlib.suppress(ContractError):
        load_contracts(path)
