"""English sentences of limits: what is used up or comes too often, and how to go on."""

from typing import Final

from gerbang.values.sentence import Sentence

LIMITS: Final[dict[str, Sentence]] = {
    "RATE_TOOL": Sentence(
        "This tool is called too often.", "Wait as long as retry_after_ms says, or finish with what is known."
    ),
    "RATE_ACTOR": Sentence(
        "Too many calls were made for this user.",
        "Wait as long as retry_after_ms says, or finish with what is known.",
    ),
    "RATE_TENANT": Sentence(
        "Too many calls were made for this tenant.",
        "Wait as long as retry_after_ms says, or finish with what is known.",
    ),
    "RATE_TEAM": Sentence(
        "Too many calls were made for this team.",
        "Wait as long as retry_after_ms says, or finish with what is known.",
    ),
    "RATE_RUN": Sentence(
        "Too many calls were made in this run.",
        "Wait as long as retry_after_ms says, or finish with what is known.",
    ),
    "TOO_MANY_AT_ONCE": Sentence(
        "As many calls of {tool} run already as may run at once.",
        "Try again later, or finish with what is known.",
        "As many calls of this tool run already as may run at once.",
    ),
    "TOO_MANY_LATE_CALLS": Sentence(
        "Too many earlier calls still run past their time-out.", "Wait, or finish with what is known."
    ),
    "BUDGET_STEPS": Sentence(
        "The steps of this run are used up.", "Finish with what is known, and say what is missing."
    ),
    "BUDGET_CALLS": Sentence(
        "This run may make {limit:call|calls}; none is left.",
        "Finish with what is known, and say what is missing.",
        "The calls of this run are used up.",
    ),
    "BUDGET_COST": Sentence(
        "The cost units are used up.", "Finish with what is known, and say what is missing."
    ),
    "BUDGET_TOKENS": Sentence(
        "The tokens are used up.", "Finish with what is known, and say what is missing."
    ),
    "BUDGET_TIME": Sentence(
        "The time of this run is used up.", "Finish with what is known, and say what is missing."
    ),
    "BUDGET_CONTEXT": Sentence(
        "There is no room left in the model's context for this call and what it gives; it was not run.",
        "Ask for less, or finish with what is known.",
    ),
    "REPEATED_CALL": Sentence(
        "The same call was made {times:time|times} already; its answer does not change.",
        "Finish with what is known, and say what is missing.",
        "The same call was made too often; its answer does not change.",
    ),
}
