"""Findings as SARIF 2.1.0 (OASIS), for code hosts and editors."""

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

from gerbang.contract.lint import RULES
from gerbang.contract.lint_rule import Finding

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_INDEX: Final = {rule.id: index for index, rule in enumerate(RULES)}


def sarif(findings: Iterable[Finding], version: str) -> dict[str, Any]:
    """Return the log of one run as a JSON-able dict. `version` is that of the program.

    Files are given as relative references where they are relative, else as `file:` URIs (SARIF 3.4).
    """
    driver = {
        "name": "gerbang tools lint",
        "semanticVersion": version,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.what},
                "help": {"text": rule.fix},
                "defaultConfiguration": {"level": rule.level},
            }
            for rule in RULES
        ],
    }
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding) for finding in findings],
            }
        ],
    }


def _result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {
        "logicalLocations": [{"name": finding.tool, "fullyQualifiedName": finding.tool + finding.path}]
    }
    if finding.file is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file)}}
        if finding.line is not None:
            physical["region"] = {"startLine": finding.line}
        place["physicalLocation"] = physical
    return {
        "ruleId": finding.rule,
        "ruleIndex": _INDEX[finding.rule],
        "level": finding.level,
        "message": {"text": f"{finding.tool}: {finding.message} {finding.fix}"},
        "locations": [place],
        "partialFingerprints": {"contract/v1": f"{finding.rule}:{finding.tool}{finding.path}"},
    }


def _uri(file: str) -> str:
    text = quote(file.replace("\\", "/"))
    return f"file://{text}" if text.startswith("/") else text
