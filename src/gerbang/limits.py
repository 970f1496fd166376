"""Every bound of the trunk in one place. Sizes are characters unless the name says bytes; times are seconds.

A bound that a deployment may want to change is the default of a setting; the others are safety caps.
"""

from typing import Final

MAX_ARGUMENT_BYTES: Final = 1_048_576
"""Largest JSON text of one call's arguments, in bytes. Larger ones are refused with CALL_TOO_LARGE."""
MAX_ARGUMENT_DEPTH: Final = 64
"""Deepest nesting of arguments; the outer object counts as 1."""
MAX_TOOL_NAME: Final = 128
"""Longest canonical tool name."""
WIRE_NAME_MAX: Final = 64
"""Longest tool name that model providers accept on the wire (`[A-Za-z0-9_-]{1,64}`)."""
MAX_CALLS_PER_ANSWER: Final = 128
"""More calls than this in one answer are refused one by one, none is dropped silently."""
MAX_CONTRACT_FILE_BYTES: Final = 4_000_000
"""Largest file of contracts."""
MAX_FINDINGS: Final = 20
"""Findings listed in one validation error; the message says how many there were."""
MAX_TOOL_WORDS: Final = 2_200
"""Longest text in which a tool says what went wrong: a body of 2,000 characters and what stands before it."""
MAX_CODE_TEXT: Final = 500
"""Longest foreign text (a name, a server's reason) that an error message quotes."""

RESULT_MAX_CHARS: Final = 16_000
"""Default cap of one tool result as the model sees it."""
RESULT_STORE_BYTES: Final = 4_194_304
"""A result whose JSON is larger than this is refused with OUTPUT_SHAPE; a text is cut."""
TOOL_TIMEOUT_S: Final = 30.0
"""Default time-out of one tool call."""
RUN_DEADLINE_S: Final = 600.0
"""Default wall clock of one run."""
MAX_STEPS: Final = 25
"""Default number of model answers in one run, where the profile names none."""
MAX_CALLS: Final = 100
"""Default number of tool calls in one run."""
MAX_REPEATS: Final = 3
"""The same call (tool and arguments) may be proposed this many times in one run."""
MAX_PARALLEL: Final = 16
"""Default number of reads of one answer that run at the same time."""
MAX_SYNC_THREADS: Final = 64
"""Sync tools running at the same time in one process."""
MAX_LATE_THREADS: Final = 16
"""Sync tools that outlived their time-out; past this number new sync calls are refused."""
CONTEXT_TOKENS: Final = 32_768
"""Assumed context window of a model that does not tell its own, in tokens."""
CHARS_PER_TOKEN: Final = 3
"""Cautious estimate for the context budget: a real tokenizer rarely needs more tokens than this gives."""
MODEL_TIMEOUT_S: Final = 180.0
"""Default time for one model answer."""
MODEL_RETRIES: Final = 2
"""Further attempts after a 429, a 5xx or a refused connection, before any output arrived."""
MAX_ANSWER_CHARS: Final = 4_000_000
"""A model answer longer than this is cut off and counts as truncated."""
