"""Numbers with their nouns, as a person writes them: `1 call`, `2 calls`.

A template has both forms in the place of the number, `{calls:call|calls}`; languages without plurals, such as
Indonesian, write `{calls} panggilan`.
"""

from string import Formatter
from typing import Any


class _Filling(Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        """Return the value with the form that fits it, where the template has two."""
        one, bar, many = format_spec.partition("|")
        return counted(value, one, many) if bar else super().format_field(value, format_spec)


_FILLING = _Filling()


def counted(number: float | str, one: str, many: str = "") -> str:
    """Return the number with its noun: `one` for 1, else `many`, which is `one` with an s where it is not
    given.
    """
    return f"{number} {one if str(number) == '1' else many or one + 's'}"


def filled(template: str, /, **values: Any) -> str:
    """Return the template with its `{names}` filled in. Raises KeyError for a name that has no value."""
    return _FILLING.format(template, **values) if "|" in template else template.format(**values)
