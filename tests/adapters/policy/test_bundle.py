"""Reading bundles: what is loaded, what is refused and with which words, and what the version depends on."""

# ruff: noqa: E501 (the sources and messages of the tables stand in one line)

from pathlib import Path

import pytest

from gerbang.adapters.policy.bundle import read_bundle
from gerbang.adapters.policy.rego import RegoPolicy
from gerbang.adapters.policy.rego_blocking import start
from gerbang.adapters.policy.rego_process import Nursery, bundle_line
from gerbang.errors import PolicyError

from .bundles import ALLOW, document, rego, write

GOOD = f"package gerbang\n\ndecision := {ALLOW}\n"
HEAD = "package gerbang\n\n"

REFUSED = {
    "brace": (HEAD + "decision := {", ["policy.rego:3:14: expecting expression"]),
    "no package": ("decision := 1", ["policy.rego:1:1: expecting `package`"]),
    "old syntax": (HEAD + "decision = 1 { true }", ["policy.rego:3:14: `if` keyword is required"]),
    "two defaults": (
        HEAD + f"default decision := 1\ndefault decision := 2\ndecision := {ALLOW} if input.x",
        ["policy.rego:4:1: a second default for data.gerbang.decision; the first is at", "policy.rego:3. Keep one."],
    ),
    "recursion": (
        HEAD + "decision := f(1)\nf(x) := g(x)\ng(x) := f(x)",
        ["policy.rego:4:1: data.gerbang.f calls itself", "policy.rego:5:1: data.gerbang.g calls itself"],
    ),
    "unknown function": (HEAD + "decision := nope(1)", ["policy.rego:3:13: there is no function nope."]),
    "unknown function in a body": (
        HEAD + f"decision := {ALLOW} if {{ some x in input.list; strings.nope(x) }}",
        ["policy.rego:3:81: there is no function strings.nope."],
    ),
    "time": (HEAD + "decision := time.now_ns()", ["policy.rego:3:13: time.now_ns is not for policies", "input.time"]),
    "network": (HEAD + 'decision := http.send({"method": "get", "url": "http://a/"})', ["a policy has no network"]),
    "environment": (HEAD + "decision := opa.runtime().env", ["opa.runtime is not for policies"]),
    "random": (HEAD + 'decision := rand.intn("a", 2)', ["rand.intn is not for policies"]),
    "other package": ("package other\ndecision := 1", ["no rule defines data.gerbang.decision. Add `decision` to"]),
    "unsafe variable": (HEAD + "decision := 1 if { x > 1 }", ["policy.rego:3:20", "`x` is unsafe"]),
    "cyclic rules": (HEAD + "decision := a\na := b\nb := a", ["policy.rego:4:1", "recursion detected"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_place(name: str, tmp_path: Path) -> None:
    text, parts = REFUSED[name]
    with pytest.raises(PolicyError) as caught:
        RegoPolicy.open(rego(tmp_path, text))
    for part in parts:
        assert part in str(caught.value)
    assert "Stack backtrace" not in str(caught.value)


def test_every_fault_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a.rego": "package gerbang\nx := {", "deep/b.rego": "package gerbang\ny := [", "c.rego": GOOD},
    )
    with pytest.raises(PolicyError) as caught:
        RegoPolicy.open(tmp_path)
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"{tmp_path / 'a.rego'}:2:7",
        f"{tmp_path / 'deep/b.rego'}:2:7",
    ]


UNREADABLE = {
    "missing": ({}, "nope.rego", "cannot be read: No such file or directory"),
    "not rego": ({"a.yaml": "version: 1"}, "a.yaml", "a Rego policy is a .rego file, or a folder"),
    "empty folder": ({"readme.txt": ""}, "", "there is no .rego file in this folder"),
    "only tests": ({"a_test.rego": GOOD}, "", "there is no .rego file in this folder"),
    "data not JSON": ({"a.rego": GOOD, "data.json": '{"a": }'}, "", "data.json:1:7: not JSON"),
    "data twice": ({"a.rego": GOOD, "data.json": '{"a": 1, "a": 2}'}, "", "data.json: an object has a key twice"),
    "data NaN": ({"a.rego": GOOD, "data.json": '{"a": NaN}'}, "", "data.json: NaN is not JSON"),
    "data a list": ({"a.rego": GOOD, "data.json": "[1]"}, "", "data.json: a data document is an object"),
    "data in two places": (
        {"a.rego": GOOD, "data.json": '{"team": {"a": 1}}', "team/data.json": '{"a": 2}'},
        "",
        "'a' is already in another data.json",
    ),
    "data over a rule": (
        {"a.rego": GOOD, "data.json": '{"gerbang": {"decision": {"decision": "allow", "reasons": ["OURS"]}}}'},
        "",
        "a.rego:3:1: data.gerbang.decision is a rule and also a value of data.json",
    ),
    "deep data": ({"a.rego": GOOD, "data.json": '{"a":' * 100_000}, "", "data.json"),
    "too long": ({"a.rego": GOOD + "#" * 5_000_000}, "", "at most 4,194,304 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read(name: str, tmp_path: Path) -> None:
    files, path, part = UNREADABLE[name]
    write(tmp_path, files)
    with pytest.raises(PolicyError) as caught:
        RegoPolicy.open(tmp_path / path)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "entry", ["", "decision", "data.gerbang", "data.gerbang.a-b", "input.a.b", "data.a.b[0]"]
)
def test_entry_points_are_names_in_full(entry: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="is not an entry point"):
        RegoPolicy.open(rego(tmp_path, GOOD), entry=entry)


def test_a_folder_with_data_and_imports(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.rego": HEAD + "import data.team.people as p\nimport data.lib\n\n"
            'decision := {"decision": "allow", "reasons": ["IN_TEAM"]} if lib.known(input.actor.user, p)\n',
            "lib/known.rego": "package lib\n\nknown(user, people) if user in people\n",
            "lib/known_test.rego": "package lib\n\nthis is not read {",
            ".hidden/x.rego": "not read either {",
            "team/data.json": '{"people": ["ana"]}',
            "other.json": "not read",
        },
    )
    policy = RegoPolicy.open(tmp_path)
    try:
        assert policy.decide(document(actor={"user": "ana"})).reasons == ("IN_TEAM",)
        assert policy.decide(document(actor={"user": "eve"})).reasons == ("POLICY_UNDEFINED",)
    finally:
        policy.close()


def test_the_version_is_that_of_what_decides(tmp_path: Path) -> None:
    def version(name: str, files: dict[str, str], entry: str = "data.gerbang.decision") -> str:
        return read_bundle(write(tmp_path / name, files), entry).version

    first = version("a", {"p.rego": GOOD, "data.json": "{}"})
    assert first.startswith("sha256:")
    assert version("b", {"p.rego": GOOD, "data.json": "{}", "notes.txt": "x", "p_test.rego": "x"}) == first
    others = [
        version("c", {"p.rego": GOOD + "\n", "data.json": "{}"}),
        version("d", {"p.rego": GOOD, "data.json": '{"a": 1}'}),
        version("e", {"q.rego": GOOD, "data.json": "{}"}),
        version("f", {"p.rego": GOOD, "data.json": "{}"}, "data.gerbang.other"),
        version("g", {"p.rego": GOOD, "sub/data.json": "{}"}),
    ]
    assert len({first, *others}) == len(others) + 1


def test_the_facts_that_a_bundle_reads_are_known(tmp_path: Path) -> None:
    text = HEAD + (
        f'decision := {ALLOW} if {{ input.facts["diff.files_changed"] <= 20; known }}\n'
        'known if { some x in ["a"]; input.facts[x]; input.facts.plain; not input.facts[`raw`].deep.er }\n'
    )
    policy = RegoPolicy.open(rego(tmp_path, text))
    assert policy.needs("any.tool.v1") == ("diff.files_changed", "plain", "raw")
    policy.close()


SEEN = {
    "input.tool.name == input.actor.user": ["actor", "tool"],
    'input["arguments"].x; some y in input.history.calls': ["arguments", "history"],
    "input[`budget`]": ["budget"],
    "every x in input.resources { x.tenant == input.actor.tenant }": ["actor", "resources"],
    "f(1) with input.time as 5": ["time"],
    "true": [],
    "walk(input)": None,
    "input[x]": None,
    'object.get(input, "history", {})': None,
    "f(1) with input as {}": None,
    "z := input": None,
    "{k | some k, _ in input}": None,
    "[v | v := input[_]]": None,
}


@pytest.mark.parametrize("body", SEEN)
def test_what_a_bundle_can_see_of_the_input(body: str, tmp_path: Path) -> None:
    text = HEAD + f'decision := {ALLOW} if {{ some x in ["a"]; x; {body} }}\nf(x) := x\n'
    nursery = Nursery(bundle_line(read_bundle(rego(tmp_path, text))))
    try:
        _, hello = start(nursery)
        assert (hello.faults, hello.fields) == ([], SEEN[body])
    finally:
        nursery.kill_all()


def test_an_import_of_the_input_counts_as_well(tmp_path: Path) -> None:
    text = "package gerbang\n\nimport input.history as past\n\n" + (
        f"decision := {ALLOW} if count(past.calls) == 1\n"
    )
    policy = RegoPolicy.open(rego(tmp_path, text))
    past = [{"tool": "a.b.v1"}]
    assert policy.decide(document(history={"calls": past})).reasons == ("OK",)
    assert policy.decide(document()).reasons == ("POLICY_UNDEFINED",)
    policy.close()
