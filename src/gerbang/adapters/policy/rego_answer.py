"""Reading one line of a worker as a decision."""

from typing import Final

import msgspec

from gerbang.adapters.policy.rego_process import Gone
from gerbang.adapters.policy.verdict import Told, Verdict, decided, denied
from gerbang.policy.input import PolicyInput


class _Answer(msgspec.Struct):
    value: Verdict | None = None
    code: str = ""
    text: str = ""


_DECODER: Final = msgspec.json.Decoder(_Answer)


def read_answer(line: bytes, document: PolicyInput, version: str) -> Told:
    """Return what a worker's line says; every line that is no decision is a denial.

    Raises Gone when the line is not JSON: this is not our worker speaking.
    """
    try:
        answer = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        return denied("POLICY_ERROR", version, f"the result has the wrong shape: {error}", "POLICY_RESULT")
    except msgspec.DecodeError as error:
        raise Gone("the worker does not keep to its protocol") from error
    if answer.value is not None:
        return decided(answer.value, document, version)
    if answer.code == "POLICY_UNDEFINED":
        return denied("POLICY_UNDEFINED", version, answer.text)
    if not answer.code:
        return denied("POLICY_ERROR", version, "the result is null", "POLICY_RESULT")
    return denied("POLICY_ERROR", version, answer.text, answer.code)
