"""Errors as sentences: made in English from a code and its particulars, said again in another language."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from gerbang.values import advice_en, advice_id, findings_en, findings_id, sentences_en, sentences_id
from gerbang.values.counting import filled
from gerbang.values.failure import OWN_WORDS, CallError, InvalidField
from gerbang.values.reasons_id import REASONS
from gerbang.values.sentence import Sentence

Param = str | int | float
_MORE_THAN: Final = "more than "
_NOT_JSON: Final = frozenset({"BAD_UNICODE", "CALL_TOO_DEEP", "CALL_TOO_LARGE", "NOT_A_NUMBER", "NOT_JSON"})
"""Codes of findings whose sentence is that of the code; all others are somebody's own words."""
_UNITS: Final = {"levels": "tingkat", "characters": "karakter"}


def said(
    error_type: str,
    error_code: str,
    params: Mapping[str, Param] | None = None,
    *,
    entry: str = "",
    **members: Any,
) -> CallError:
    """Return an error with the English sentences of the table.

    `params` fill the sentence; `entry` names one that is not called like the code (`CODE/variant`).
    `members` are the other members of CallError; a given `message` or `suggested_fix` stays in place of the
    table's English one. Raises KeyError for an entry that there is not: a fault of the program.
    """
    filled = dict(params or {})
    text, fix = _filled(sentences_en.ERRORS[entry or error_code], filled)
    members.setdefault("message", text)
    members.setdefault("suggested_fix", fix)
    return CallError(error_type, error_code, said=entry or error_code, params=filled, **members)


def field(path: str, code: str, keyword: str, /, **params: Param) -> InvalidField:
    """Return a finding about one field with the English sentence of a schema's keyword.

    Of the keyword `type`, `wanted` holds the names of the types with `|` between them.
    """
    message = filled(findings_en.FIELDS[keyword], **_joined(params, findings_en.OR))
    return InvalidField(path, code, message, keyword, params)


def in_language(error: CallError, lang: str) -> CallError:
    """Return the error with its sentences in `lang` (`en` or `id`). What a tool wrote itself stays.

    Of an error whose particulars are not known the language has the sentence of its code, or of its type.
    """
    if lang != "id" or error.said == OWN_WORDS:
        return error
    table = sentences_id.ERRORS
    entry = table.get(error.said or error.error_code) or table.get(error.error_code)
    fields = tuple(_field_in_indonesian(one) for one in error.invalid_fields)
    if fields and error.error_type == "semantic_error":  # its message is what the findings say
        joined = " ".join(dict.fromkeys(one.message for one in fields))
        fix = error.suggested_fix if entry is None else _filled(entry, error.params)[1]
        return replace(error, message=joined, suggested_fix=fix, invalid_fields=fields)
    if entry is None:
        entry = table.get(error.error_type)
    if entry is None:
        return replace(error, invalid_fields=fields)
    params = {name: _reason(value) if name == "why" else value for name, value in error.params.items()}
    text, fix = _filled(entry, params)
    return replace(error, message=text, suggested_fix=fix, invalid_fields=fields)


def advised(error: CallError, lang: str) -> CallError:
    """Return the error with a suggested fix, in `lang`, where it has none: nobody is left without advice.

    Of an effect that has happened, or may have, the advice is not to repeat the call.
    """
    if error.suggested_fix:
        return error
    said_in = advice_id.ADVICE if lang == "id" else advice_en.ADVICE
    unsure = error.effect != "none"
    return replace(error, suggested_fix=said_in["uncertain_effect" if unsure else error.error_type])


def further_advice(error: CallError) -> str:
    """Return the suggested fix; empty where there is none, or the message ends with it."""
    return "" if error.message.endswith(error.suggested_fix) else error.suggested_fix


def _filled(entry: Sentence, params: Mapping[str, Param]) -> tuple[str, str]:
    try:
        text = filled(entry.text, **params)
    except KeyError:
        text = entry.plain
    try:
        fix = filled(entry.fix, **params)
    except KeyError:
        fix = entry.plain_fix
    return text, fix


def _field_in_indonesian(field: InvalidField) -> InvalidField:
    sentence = findings_id.FIELDS.get(field.said)
    if sentence is None:
        entry = sentences_id.ERRORS[field.code] if field.code in _NOT_JSON else None
        return field if entry is None else replace(field, message=entry.plain or entry.text)
    return replace(field, message=filled(sentence, **_joined(field.params, findings_id.OR)))


def _joined(params: Mapping[str, Param], word: str) -> dict[str, Param]:
    return {
        name: value.replace("|", word) if name == "wanted" and isinstance(value, str) else value
        for name, value in params.items()
    }


def _reason(why: Param) -> Param:
    """Say what a reader said of a broken call; what is not in the table (a name, a mark) stays as it is."""
    if not isinstance(why, str):
        return why
    if why.startswith(_MORE_THAN):
        number, _, unit = why.removeprefix(_MORE_THAN).partition(" ")
        return f"lebih dari {number} {_UNITS.get(unit, unit)}"
    return REASONS.get(why, why)
