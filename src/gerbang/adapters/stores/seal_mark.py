"""The mark of a store whose working state is sealed, and the refusal to open it without a key."""

from typing import Final

from gerbang.errors import StoreUnavailable

NAME: Final = "gerbang:seal"
"""The pin that marks a sealed store: `all:KEY` when it was sealed from its first run on, else `new:KEY`."""


def refused(why: str) -> StoreUnavailable:
    """Return the error for a store that cannot be opened so."""
    return StoreUnavailable(
        f'{why} Give the file of seal keys: `seal = "file:PATH"` in the settings, GERBANG_SEAL, or '
        'Gateway(seal="file:PATH").'
    )


def check_mark(digest: object, unsealing: bool) -> None:
    """Refuse a sealed store that is opened without a sealer. `digest` is that of the mark, if it has one."""
    if digest is not None and not unsealing:
        raise refused("This store is sealed, and no key was given.")
