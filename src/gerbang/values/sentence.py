"""One entry of a table of sentences."""

from typing import NamedTuple


class Sentence(NamedTuple):
    """What happened (`text`) and what to do next (`fix`), with `{names}` of what is filled in.

    `plain` and `plain_fix` say the same without particulars, for an error that carries none; where they
    are empty, `text` and `fix` have no names in them.
    """

    text: str
    fix: str
    plain: str = ""
    plain_fix: str = ""
