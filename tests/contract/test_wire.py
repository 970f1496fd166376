"""Names on the wire: short, in the letters that providers accept, and always found back."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.contract.catalogue import Catalogue
from gerbang.contract.wire import check_name, wire_name
from gerbang.errors import ContractError

from .helpers import contract

SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("weather.get_current.v1", "weather__get_current__v1"),
        ("hitung", "hitung"),
        ("read_file", "read_file"),
        ("a.b.c.d", "a__b__c__d"),
        ("a-b.c-d.v2", "a-b__c-d__v2"),
        ("a__b", "a__b"),
        ("a._b".replace("._", ".x_"), "a__x_b"),
    ],
)
def test_names_that_travel_as_they_read(name: str, wire: str) -> None:
    assert wire_name(name) == wire


@pytest.mark.parametrize(
    "name", ["a.b__c", "a_.b", "a__.b", "x." * 40 + "v1", "y" * 65, "a." + "b" * 62, "z" * 128]
)
def test_names_that_need_a_digest(name: str) -> None:
    wire = wire_name(name)
    assert SAFE.fullmatch(wire)
    assert re.search(r"_[0-9a-f]{8}$", wire)
    assert wire_name(name) == wire
    catalogue = Catalogue([contract(name=name)])
    for way in (name, wire):
        found = catalogue.find(way)
        assert found is not None
        assert found.contract.name == name


names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,12}(\.[A-Za-z0-9][A-Za-z0-9_-]{0,12}){0,4}", fullmatch=True)


@settings(max_examples=60, deadline=None)
@given(st.sets(names, min_size=1, max_size=6))
def test_every_name_is_found_back_or_its_collision_refused(chosen: set[str]) -> None:
    assert all(SAFE.fullmatch(wire_name(name)) for name in chosen)
    taken = {form for name in chosen for form in {name, wire_name(name)}}
    clash = len(taken) != sum(len({name, wire_name(name)}) for name in chosen)
    if clash:
        with pytest.raises(ContractError, match="Two tools are called"):
            Catalogue(contract(name=name) for name in chosen)
        return
    catalogue = Catalogue(contract(name=name) for name in chosen)
    for name in chosen:
        for form in (name, wire_name(name)):
            entry = catalogue.find(form)
            assert entry is not None
            assert entry.contract.name == name
            assert entry.spec.wire_name == wire_name(name)


def test_a_collision_names_both_origins() -> None:
    with pytest.raises(ContractError, match=r"'a__b': one from one\.py, one from two\.py\. Rename one"):
        Catalogue([contract(name="a.b", origin="one.py"), contract(name="a__b", origin="two.py")])
    with pytest.raises(ContractError, match=r"Two tools are called 'a\.b'"):
        Catalogue([contract(name="a.b"), contract(name="a.b")])


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "1a",
        "_a",
        "-a",
        "a b",
        "a.b\n",
        "a.b ",
        "a/b",
        "a:b",
        "ä.b",
        "a.ｂ",
        "a.*",
        "a\x00",
        "a\ud800",
        "a._b",
        "a.-b",
        "x" * 129,
        None,
        5,
        b"a",
        ["a"],
    ],
)
def test_what_is_no_name(name: object) -> None:
    with pytest.raises(ContractError, match="is not a tool name"):
        check_name(name, "here")
