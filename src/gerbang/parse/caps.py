"""Safety caps of the readers, in characters unless said otherwise. A breach is a ParseFault, never an
exception.
"""

from typing import Final

MAX_CALL: Final = 16_000_000
"""Longest text of one call; larger ones are refused with CALL_TOO_LARGE."""
MAX_HELD: Final = 16_000_000
"""Most text that is held back while it is open whether it is a call (bare formats, drafts in reasoning)."""
MAX_NAME: Final = 256
"""Longest name of a tool as a model may write it."""
MAX_KEY: Final = 1_024
"""Longest name of an argument in tag formats, and longest tag with its attributes."""
MAX_HEADER: Final = 2_048
"""Longest header of a harmony message."""
MAX_DEPTH: Final = 200
"""Deepest nesting of values; the outermost object counts as 1."""
MAX_BLANK: Final = 65_536
"""Longest run of white space that is held while it is open what follows."""
MAX_RAW: Final = 500
"""Longest text that a fault quotes."""
MAX_INDENT: Final = 256
"""Most spaces before an untagged call on its line."""
