"""The lint log in the form of SARIF 2.1.0."""

from gerbang.cli.lint_sarif import sarif
from gerbang.contract.lint import RULES, lint
from tests.contract.lint_contracts import READ, contract


def test_sarif() -> None:
    """What SARIF 2.1.0 (3.13, 3.14, 3.19, 3.27-3.33, 3.49) demands of the members that are used."""
    place = {"notes.search.v1": ("my contracts/notes.yaml", 3), "mail.send": ("/abs/mail.yaml", 1)}
    found = lint([contract(READ, owner="", name=name) for name in (*place, "odd.one.v1")], place)
    log = sarif(found, "1.2.3")
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "gerbang tools lint"
    assert driver["semanticVersion"] == "1.2.3"
    assert [rule["id"] for rule in driver["rules"]] == [rule.id for rule in RULES]
    assert len(run["results"]) == len(found) > 3
    for result, finding in zip(run["results"], found, strict=True):
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule
        assert result["level"] in ("none", "note", "warning", "error")
        assert finding.message in result["message"]["text"]
        assert finding.fix in result["message"]["text"]
        (location,) = result["locations"]
        assert location["logicalLocations"] == [
            {"name": finding.tool, "fullyQualifiedName": finding.tool + finding.path}
        ]
        if finding.file is None:
            assert "physicalLocation" not in location
        else:
            assert location["physicalLocation"]["region"] == {"startLine": finding.line}
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in run["results"]
        if "physicalLocation" in result["locations"][0]
    }
    assert uris == {"my%20contracts/notes.yaml", "file:///abs/mail.yaml"}
