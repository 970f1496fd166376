"""What stands against a commit when others have gone on with the run."""

from typing import Final

TRIES: Final = 200
"""So often a call is decided on anew because others went on with its run meanwhile."""


class Behind(Exception):
    """Others have gone on with the run, or what was decided before a wait holds no longer after it: nothing
    was written, and the call has to be decided on anew.
    """
