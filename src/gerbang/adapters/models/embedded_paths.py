"""File names, kept as the person wrote them: the embedded model drops folders and letters, and adds words."""

import difflib
import re
from typing import Any, Final

_PARAMETERS: Final = frozenset({"path", "file", "filename", "file_name", "jalur", "berkas", "nama_berkas"})
_NAME: Final = re.compile(r"[^\s\"'`,;:?!()<>]*[\w)]\.[A-Za-z]\w{0,9}(?![\w/])")
_CLOSE: Final = 0.8
"""How alike two names must be for one to be a slip of the other (difflib's ratio)."""


def mend(arguments: dict[str, Any], request: str) -> dict[str, Any]:
    """Return the arguments with each file name as it stands in the request, where one is meant.

    Only parameters that are named like a file are touched, and only towards words of the request.
    """
    names: list[str] | None = None
    mended = dict(arguments)
    for key, value in arguments.items():
        if key.lower() in _PARAMETERS and isinstance(value, str):
            names = _NAME.findall(request) if names is None else names
            mended[key] = _meant(value, names)
    return mended


def _meant(value: str, names: list[str]) -> str:
    if value in names or not names:
        return value
    inside = [name for name in names if name in value.split()]
    if len(inside) == 1:
        return inside[0]
    longer = [name for name in names if name.endswith("/" + value)]
    if len(longer) == 1:
        return longer[0]
    return next(iter(difflib.get_close_matches(value, names, 1, _CLOSE)), value)
