"""What is wrong in a file is named by file, line and column; bundles count as one policy."""

from pathlib import Path
from typing import Any

import pytest

from gerbang.compose.policy import Policy
from gerbang.errors import PolicyError
from gerbang.policy.bundle import compile_rules, load_bundle, load_rules

HEAD = "version: 1\nfacts: [f]\nrules:\n  - id: r\n    decision: deny\n    reason: R\n    match:\n"


@pytest.mark.parametrize(
    ("match", "says"),
    [
        (
            "      tol: x",
            "p.yaml: line 8, column 12: rule 'r': unknown condition 'tol'. Did you mean 'tool'?",
        ),
        ("      tool: a*b", "line 8, column 13: rule 'r', tool: 'a*b': a star may only"),
        (
            "      tool: x\n      arguments:\n        n: {ge: a}",
            "line 10, column 17: rule 'r', arguments.n: an ordering",
        ),
        (
            "      arguments: {n: {lt: 1, abve: 2}}",
            "line 8, column 36: rule 'r', arguments.n: unknown comparison 'abve'",
        ),
        (
            "      history: {after: {tol: a}}",
            "line 8, column 30: rule 'r', history.after: unknown field 'tol'",
        ),
        ("      facts: {g: 1}", "line 8, column 18: rule 'r', facts.g: the fact is not declared. Add it to"),
        (
            "      risk_facts: {mony: true}",
            "rule 'r', risk_facts.mony: 'mony' is not a risk fact. Known: irreversible",
        ),
        ("      risk_facts: {}", "risk_facts: takes a mapping of risk facts"),
        ("      roles: {some: [a]}", "line 8, column 14: rule 'r', roles: takes a text, a list of texts, or"),
        ("      resources: {tenant: mine}", "rule 'r', resources.tenant: takes 'same' or 'other'."),
        ("      resources: {kid: a}", "rule 'r', resources: unknown field 'kid'. Known: kind, tenant, id."),
        (
            "      taint: {where: x}",
            "rule 'r', taint.where: unknown condition. Known: arguments, control, run.",
        ),
        ("      taint: {control: [copied]}", "taint.control: 'copied' is not a provenance. Known: user"),
        ("      taint: {arguments: {x: copied}}", "taint.arguments.x: 'copied' is not a provenance"),
        ("      budget: {money: 1}", "rule 'r', budget.money: unknown figure. Known: calls"),
        ("      time: {days: [fri]}", "rule 'r', time.zone: is missing. Write 'UTC'"),
        ("      time: {days: [friday], zone: UTC}", "rule 'r', time.days: takes days of: mon, tue"),
        ("      time: {days: [5], zone: UTC}", "time.days: takes days of"),
        (
            "      time: {hours: 8-17, zone: UTC}",
            "time.hours: takes a span such as '08:00-17:30', in quotes.",
        ),
        ('      time: {hours: "08:00-08:00", zone: UTC}', "begins and ends at different times"),
        (
            '      time: {hours: "08:00-24:30", zone: UTC}',
            "begins and ends at different times, at most '24:00'",
        ),
        ("      time: {zone: UTC}", "rule 'r', time: takes a mapping with 'days' or 'hours'"),
        ("      time: {days: [fri], zon: UTC}", "unknown field 'zon'. Known: days, hours, zone."),
        ("      time: {days: [fri], zone: Asia/Jakrta}", "the time zone 'Asia/Jakrta' is not known here"),
        ("      time: {days: [fri], zone: ../../etc/passwd}", "is not known here"),
        ("      time: {days: [fri], zone: UTC, outside: 1}", "time.outside: takes true or false."),
    ],
)
def test_conditions(tmp_path: Path, match: str, says: str) -> None:
    (tmp_path / "p.yaml").write_text(HEAD + match + "\n")
    with pytest.raises(PolicyError) as caught:
        Policy.load(tmp_path / "p.yaml")
    assert says in str(caught.value).replace(f"{tmp_path}/", "")
    assert "p.yaml: line " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version: 1\nruls: []", "p.yaml: line 2, column 7: unknown field 'ruls'. Did you mean 'rules'?"),
        ("0\t", "p.yaml: line 1, column 1: a policy is a mapping"),
        ("version: 2", "p.yaml: line 1, column 10: 'version: 1' is missing"),
        ("name: x", "p.yaml: line 1, column 1: 'version: 1' is missing"),
        ("version: 1\nrules:\n  - {id: a}", "line 3, column 5: rule 'a': 'decision' is allow, ask or deny."),
        ("version: 1\nfacts: x", "line 2, column 8: 'facts' is a list of the names of facts."),
        ("version: 1\nhours: {days: [fri]}", "line 2, column 8: hours.zone: is missing."),
        (
            "version: 1\ndefaults:\n  draft: maybe",
            "line 3, column 10: defaults.draft: takes allow, ask or deny.",
        ),
    ],
)
def test_the_file_itself(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_rules(text, "p.yaml")
    assert says in str(caught.value)


def rule(name: str, **more: Any) -> str:
    return f"{{id: {name}, match: {{tool: {name}.v1}}, decision: deny, reason: {name.upper()}}}"


def test_the_files_of_a_folder_are_one_policy(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(f"version: 1\nfacts: [x]\nrules: [{rule('b')}]")
    (tmp_path / "a.yml").write_text(
        f"version: 1\ndefaults: {{draft: ask}}\nrules: [{rule('a')}, "
        "{id: c, match: {facts: {x: 1}}, decision: deny, reason: C}]"
    )
    (tmp_path / "a.cases.yaml").write_text("- not a policy")
    (tmp_path / "notes.txt").write_text("not a policy")
    policy = Policy.load(tmp_path)
    assert [found.id for found in policy.rules.rules] == ["a", "b", "c"]
    assert policy.needs("a.v1") == ("x",)
    (tmp_path / "b.yaml").rename(tmp_path / "z.yaml")
    assert Policy.load(tmp_path).version == policy.version
    (tmp_path / "z.yaml").write_text(f"version: 1\nfacts: [x]\nrules: [{rule('d')}]")
    assert Policy.load(tmp_path).version != policy.version


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (
            {"a.yaml": f"version: 1\nrules: [{rule('x')}]", "b.yaml": f"version: 1\nrules:\n  - {rule('x')}"},
            "b.yaml: line 3, column 10: two rules are called 'x'; the other one is in a.yaml.",
        ),
        (
            {"a.yaml": "version: 1\ndefaults: {draft: ask}", "b.yaml": "version: 1\ndefaults: {draft: deny}"},
            "b.yaml: line 2, column 19: the default of draft stands in a.yaml already. Keep one of them.",
        ),
        (
            {
                "a.yaml": "version: 1\nhours: {days: [fri], zone: UTC}",
                "b.yaml": "version: 1\nhours: {days: [mon], zone: UTC}",
            },
            "b.yaml: line 2, column 8: the hours stand in a.yaml already.",
        ),
        (
            {"a.yaml": "version: 1", "b.yaml": "rules: []"},
            "b.yaml: line 1, column 1: 'version: 1' is missing",
        ),
    ],
)
def test_what_may_stand_in_a_bundle_once(texts: dict[str, str], says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_bundle(texts)
    assert says in str(caught.value)


def test_a_folder_without_rules_is_no_policy(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"holds 0 files of rules \(\*\.yaml\)"):
        Policy.load(tmp_path)


def test_named_zones_need_somebody_who_knows_them() -> None:
    data = {"version": 1, "hours": {"days": ["fri"], "zone": "Asia/Jakarta"}}
    with pytest.raises(PolicyError, match="is not known here"):
        compile_rules(data, "p")
