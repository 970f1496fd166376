"""Details of events: bound to the chain, and gone without a trace when they are taken away."""

import hashlib
import hmac
import json

import pytest

from gerbang.audit.chain import PENDING, core, detail_is_true, detailed, extend, start
from gerbang.audit.commitments import Commitments

SALT = bytes(range(32))
MARKS = Commitments(SALT)
DETAILS: list[dict[str, object]] = [
    {"input_redacted": '{"a":1}'},
    {"input_redacted": 'he said ,"detail_hash":"sha256:' + "0" * 64 + '"'},
    {"facts": {"detail_hash": "x", "deep": {"detail_hash": "sha256:" + "1" * 64}}, "reads": []},
    {"salt": "ab" * 32, "changes": ["amount: 1 -> 2"]},
]


def body(detail: dict[str, object], tool: str = "a.b.v1") -> bytes:
    whole = {"run_id": "r1", "tool_name": tool, "salt_id": MARKS.name, "detail_hash": PENDING, **detail}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()


def marks_for(detail: dict[str, object]) -> Commitments:
    own = detail.get("salt")
    return Commitments(bytes.fromhex(own)) if isinstance(own, str) else MARKS


@pytest.mark.parametrize("data", [b"", b"a", b"x" * 63, b"x" * 64, b"x" * 200_000])
@pytest.mark.parametrize("salt", [SALT, bytes(32), b"\xff" * 32])
def test_a_commitment_is_the_standard_hmac(salt: bytes, data: bytes) -> None:
    assert Commitments(salt).of(data) == "sha256:" + hmac.digest(salt, data, "sha256").hex()


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_salts_have_one_length(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Commitments(bytes(size))


@pytest.mark.parametrize("detail", DETAILS)
def test_the_digest_covers_the_core_only(detail: dict[str, object]) -> None:
    made = detailed(body(detail), marks_for(detail))
    assert json.loads(made).keys() == json.loads(body(detail)).keys()
    bare = core(made)
    assert json.loads(bare) == {
        key: value
        for key, value in json.loads(made).items()
        if key in ("run_id", "tool_name", "salt_id", "detail_hash")
    }
    head = start("r1")
    assert extend(head, "call.refused", made) == extend(head, "call.refused", bare)
    assert extend(head, "k", bare) == hashlib.sha256(head + b"1:k" + bare).digest()
    assert core(bare) == bare
    assert detail_is_true(made, MARKS)
    assert detail_is_true(bare, MARKS)


@pytest.mark.parametrize("detail", DETAILS)
def test_a_changed_detail_is_seen(detail: dict[str, object]) -> None:
    made = detailed(body(detail), marks_for(detail))
    changed = made[:-1] + b',"more":1}'
    assert not detail_is_true(changed, MARKS)
    assert detail_is_true(changed, None) == ("salt" not in detail)  # the run's salt is what it takes to see
    assert detail_is_true(changed, Commitments(bytes(32))) == ("salt" not in detail)  # another's salt


def test_what_a_model_wrote_in_the_core_moves_no_border() -> None:
    tool = ',"detail_hash":"sha256:' + "f" * 64 + '"'
    made = detailed(body(DETAILS[0], tool), MARKS)
    assert json.loads(core(made))["tool_name"] == tool
    assert "input_redacted" not in json.loads(core(made))
    assert detail_is_true(made, MARKS)


@pytest.mark.parametrize("salt", ["zz" * 32, "", "ab" * 31, "ä" * 64])
def test_a_salt_that_is_none_is_a_change(salt: str) -> None:
    made = detailed(body({"salt": "ab" * 32, "changes": []}), Commitments(bytes.fromhex("ab" * 32)))
    assert detail_is_true(made, None)
    assert not detail_is_true(made.replace(b"ab" * 32, salt.encode()), None)


def test_commitments_show_nothing_of_their_salt() -> None:
    salt = b"a salt that nobody is to see: 32"
    marks = Commitments(salt)
    marks.of(b"x")
    assert "nobody" not in repr([marks])
    assert "nobody" not in str(marks)
