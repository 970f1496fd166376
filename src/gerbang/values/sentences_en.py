"""English sentences of errors: what happened, what to do next, and the first without its particulars."""

from typing import Final

from gerbang.values.approvals_en import APPROVALS
from gerbang.values.limits_en import LIMITS
from gerbang.values.sentence import Sentence

ERRORS: Final[dict[str, Sentence]] = {
    # parse_error: the sentence of the reader stands before these
    "CALL_NOT_JSON": Sentence(
        "The arguments are not valid JSON ({why}).",
        "Send the whole call again, its arguments as one complete JSON object.",
        "The arguments are not valid JSON.",
    ),
    "CALL_TRUNCATED": Sentence(
        "The answer ended inside this call, so it was not executed.",
        "Send the whole call again, with shorter arguments if the answer is limited.",
    ),
    "CALL_SHAPE": Sentence(
        "This is not the shape of a call ({why}).",
        "Send the tool's name and an object of arguments in the format you were told.",
        "This is not the shape of a call.",
    ),
    "CALL_AMBIGUOUS": Sentence(
        "The call can be read in two ways ({why}).",
        "Send it again and give every key once.",
        "The call can be read in two ways.",
    ),
    "CALL_TOO_LARGE": Sentence(
        "The call is too large ({why}).",
        "Send less text in one call.",
        "The call is too large.",
    ),
    "CALL_TOO_LARGE/bytes": Sentence(
        "The arguments are {size} bytes; the limit is {limit}.",
        "Send less, or in several calls.",
        "The arguments are too large.",
    ),
    "CALL_TOO_LARGE/members": Sentence(
        "The arguments hold too many values.",
        "Send fewer values, or in several calls.",
    ),
    "CALL_TOO_DEEP": Sentence(
        "The arguments are nested too deeply ({why}).",
        "Send a flatter structure.",
        "The arguments are nested too deeply.",
    ),
    "CALL_NOT_STARTED": Sentence(
        "A call mark is followed by something that is no call, so it was left in the text.",
        "To call a tool, put the whole call right behind the mark; to only show the mark, put it in back "
        "ticks.",
    ),
    "CALL_NOT_OFFERED": Sentence(
        "The recipient {why} is not one of the offered tools.",
        "Call a tool by its exact name.",
        "The recipient is not one of the offered tools.",
    ),
    "CALL_NOT_LITERAL": Sentence(
        "The arguments are not plain values ({why}).",
        "Use only text, numbers, true or false, lists and objects as arguments.",
        "The arguments are not plain values.",
    ),
    "TOO_MANY_CALLS": Sentence(
        "An answer may hold {limit} calls; the calls after that were not run.",
        "Send the other calls in the next answer, fewer at a time.",
        "The answer holds too many calls; this one was not run.",
    ),
    # unknown_tool
    "TOOL_UNKNOWN": Sentence(
        "There is no tool called {name}.", "Use one of the listed tools.", "There is no such tool."
    ),
    "TOOL_UNKNOWN/near": Sentence(
        "There is no tool called {name}.", "Did you mean {near}?", "There is no such tool."
    ),
    "TOOL_UNKNOWN/none": Sentence(
        "There is no tool called {name}.",
        "No tools are available: answer without one.",
        "There is no such tool.",
    ),
    "TOOL_RETIRED": Sentence(
        "The tool {name} is retired.",
        "Use {successor} instead.",
        "This tool is retired.",
        "Use its successor.",
    ),
    "TOOL_RETIRED/none": Sentence(
        "The tool {name} is retired, and nothing replaces it.",
        "Use one of the listed tools.",
        "This tool is retired, and nothing replaces it.",
    ),
    # validation_error
    "arguments": Sentence(
        "The arguments do not fit {tool}: {names}.",
        "Mend the listed fields and send the call again. Fields of this tool: {known}.",
        "The arguments do not fit the tool.",
        "Mend the listed fields and send the call again.",
    ),
    "arguments/many": Sentence(
        "The arguments do not fit {tool} (the first {shown} of {total}): {names}.",
        "Mend the listed fields and send the call again. Fields of this tool: {known}.",
        "The arguments do not fit the tool.",
        "Mend the listed fields and send the call again.",
    ),
    "arguments/none": Sentence(
        "{tool} takes no arguments, and these were sent: {names}.",
        "Send an empty object of arguments.",
        "The tool takes no arguments.",
    ),
    "MISSING_FIELD": Sentence("A required field is missing.", "Add the field and send the call again."),
    "WRONG_TYPE": Sentence(
        "A value has the wrong type.", "Give the value the named type and send the call again."
    ),
    "WRONG_TYPE/arguments": Sentence(
        "The arguments must be one JSON object.", "Send the arguments as an object with the tool's fields."
    ),
    "NOT_IN_ENUM": Sentence("A value is none of the allowed ones.", "Use one of the allowed values."),
    "TOO_LONG": Sentence("A value is too long.", "Shorten the value and send the call again."),
    "TOO_SHORT": Sentence("A value is too short.", "Send a longer value."),
    "OUT_OF_RANGE": Sentence("A number is out of range.", "Choose a number within the range."),
    "BAD_FORMAT": Sentence("A text has the wrong form.", "Write the text in the named form."),
    "BAD_VALUE": Sentence(
        "The value of {name} cannot be used: {why}",
        "Mend this field and send the call again.",
        "A value cannot be used.",
    ),
    "EXTRA_FIELD": Sentence("A field does not exist.", "Leave the field out and send the call again."),
    "SCHEMA_MISMATCH": Sentence(
        "The arguments do not fit the tool's schema.", "Mend the named place and send the call again."
    ),
    "RUNTIME_OWNED_FIELD": Sentence(
        "These fields are filled by the runtime and cannot be sent: {names}.",
        "Leave these fields out.",
        "A field is filled by the runtime and cannot be sent.",
    ),
    "BAD_UNICODE": Sentence(
        "A text holds half a character (a lone surrogate).",
        "Write the text anew without the broken character.",
    ),
    "NOT_A_NUMBER": Sentence(
        "A number is not one that JSON has.", "Send a finite number, or leave the field out."
    ),
    "NOT_JSON": Sentence("A value is nothing that JSON has.", "Send plain JSON values."),
    "IDENTITY_CHANGED": Sentence(
        "An edit may not change {names}: it names the effect.",
        "Refuse this call instead, and let another one be proposed.",
        "An edit may not change a field that names the effect.",
    ),
    "KEY_REQUIRED": Sentence(
        "{tool} may only be called with an idempotency key, which the program around you has to give.",
        "Tell the user; the call cannot be mended by other arguments.",
        "This tool may only be called with an idempotency key, which the program around you has to give.",
    ),
    # semantic_error
    "SAME_BRANCH": Sentence(
        "Two values that must differ are the same.", "Choose another value for one of them."
    ),
    "STALE_SNAPSHOT": Sentence(
        "The snapshot or version that the call names is no longer the newest.",
        "Read the resource again and send the call with its present version.",
    ),
    "NOT_FOUND": Sentence(
        "What the call names does not exist.", "Look for it first, then use the name found."
    ),
    "ILLEGAL_TRANSITION": Sentence(
        "The present state does not allow this step.", "Read the present state and choose an allowed step."
    ),
    "NO_EVIDENCE": Sentence(
        "The evidence that the call needs is missing.", "Gather the evidence first, then send the call again."
    ),
    "SAME_VALUE": Sentence(
        "Two values that must differ are the same.", "Choose another value for one of them."
    ),
    "BAD_DATE": Sentence("A date makes no sense here.", "Mend the date, as RFC 3339 writes it."),
    "OFF_GOAL": Sentence(
        "This tool does not serve the goal of this run.", "Choose a tool that does, or tell the user."
    ),
    "CHECK_FAILED": Sentence(
        "{reader} could not be looked up, so the call could not be checked and was not made.",
        "Try again later, or tell the user.",
        "Something could not be looked up, so the call could not be checked and was not made.",
    ),
    # permission_denied
    "TOOL_CHANGED": Sentence(
        "The definition of the tool {name} is not the one that was approved, so nothing was run.",
        "Stop, and tell the user that somebody has to approve the tool again.",
        "The tool's definition is not the one that was approved, so nothing was run.",
    ),
    "SCOPE_MISSING": Sentence(
        "The actor lacks the scope {scopes}.",
        "Stop, and tell the user.",
        "The actor lacks a scope that this tool needs.",
    ),
    "TENANT_MISMATCH": Sentence("The resource belongs to another tenant.", "Stop, and tell the user."),
    "SECRET_MISSING": Sentence(
        "The secret {name} has no value, so nothing was run. Somebody who runs Gerbang has to set it: "
        "as the environment variable {name}, or with `gerbang secrets set {name} --secrets file:PATH`.",
        "Tell the user which secret is missing; never ask them for its value.",
        "A secret that the tool needs has no value, so nothing was run.",
    ),
    "SECRETS_UNAVAILABLE": Sentence(
        "The store of secrets could not be read for {name}, so nothing was run.",
        "Tell the user to check the store with `gerbang secrets list --secrets ADDRESS`.",
        "The store of secrets could not be read, so nothing was run.",
    ),
    "SECRET_TOO_SHORT": Sentence(
        "The value of the secret {name} is too short to be kept out of results, so nothing was run.",
        "Tell the user that the secret needs another value.",
        "The value of a secret is too short to be kept out of results, so nothing was run.",
    ),
    "SECRET_NOT_BOUND": Sentence(
        "The secret {name} is not for this call: it is bound to other tenants, users, tools or origins. "
        "Nothing was run.",
        "Tell the user; somebody who runs Gerbang decides what the secret is bound to.",
        "A secret that the tool needs is not for this call, so nothing was run.",
    ),
    # policy_denied
    "policy_denied": Sentence(
        "The policy does not allow this call ({reasons}).",
        "Choose another way that changes less, or tell the user that this is not allowed.",
        "The policy does not allow this call.",
    ),
    "KILL_SWITCH": Sentence(
        "A kill switch stops this call.", "Tell the user that this is switched off at present; do not retry."
    ),
    "POLICY_ERROR": Sentence(
        "The policy failed on this call, so it is denied.", "Tell the user; do not send the same call again."
    ),
    "POLICY_UNDEFINED": Sentence(
        "The policy says nothing about this call, so it is denied.", "Tell the user that this is not allowed."
    ),
    "NO_POLICY": Sentence(
        "There is no policy, so every call is denied.", "Tell the user; answer without tools."
    ),
    # approval_denied, approval_expired
    "APPROVER_REFUSED": Sentence(
        "{by} refused this call.",
        "Respect it: do not send the same call again. Offer something else.",
        "A person refused this call.",
    ),
    "APPROVER_REFUSED/why": Sentence(
        "{by} refused this call: {why}",
        "Respect it: do not send the same call again. Offer something else.",
        "A person refused this call.",
    ),
    "APPROVER_UNAVAILABLE": Sentence(
        "This call needs a person's approval, and nobody can be asked here.",
        "Tell the user what you wanted to do and that it needs approval.",
    ),
    "APPROVER_ERROR": Sentence(
        "The approval could not be asked for.", "Tell the user that the call could not be approved."
    ),
    "APPROVAL_STALE": Sentence(
        "What was approved is not what would run now: the call, its contract or the policy changed.",
        "Tell the user that it has to be approved anew.",
    ),
    "APPROVAL_TIMEOUT": Sentence(
        "The approval was not given, or not used, in time.", "Tell the user; do not send the same call again."
    ),
    # timeout, transient_network_error, upstream_error
    "TOOL_TIMEOUT": Sentence(
        "The tool gave no result within {seconds} s.",
        "Ask for less, or use another tool.",
        "The tool gave no result in time.",
    ),
    "TOOL_TIMEOUT/mutation": Sentence(
        "The tool gave no result within {seconds} s.",
        "Do not repeat the call: it may still take effect.",
        "The tool gave no result in time.",
    ),
    "IDLE_TIMEOUT": Sentence("The tool fell silent and was stopped.", "Ask for less, or use another tool."),
    "CONNECT_FAILED": Sentence(
        "The connection to the service could not be made.", "Try later, or use another tool."
    ),
    "CONNECTION_RESET": Sentence(
        "The connection to the service was lost.", "Check what happened before you send the call again."
    ),
    "IDLE_TIMEOUT/raised": Sentence(
        "What the tool waited for did not answer in time ({reference}).",
        "Ask for less, or use another tool.",
        "What the tool waited for did not answer in time.",
    ),
    "CONNECT_FAILED/raised": Sentence(
        "The tool could not connect to its service ({reference}).",
        "Try later, or use another tool.",
        "The tool could not connect to its service.",
    ),
    "CONNECTION_RESET/raised": Sentence(
        "The tool lost the connection to its service ({reference}).",
        "Check what happened before you send the call again.",
        "The tool lost the connection to its service.",
    ),
    "CIRCUIT_OPEN": Sentence(
        "This service has failed several times in a row, so it is left alone for a while.",
        "Try again after the wait, or finish with what is known.",
    ),
    "NOT_HAPPENED": Sentence(
        "The service gave no answer, and it has been found out since that nothing was done.",
        "Nothing was changed: the call may be made again later.",
    ),
    "SECRET_UNUSABLE": Sentence(
        "A secret that the tool needs cannot stand in a header. Nothing was sent.",
        "Tell the user; whoever set the secret has to set it anew, as one line.",
    ),
    "EGRESS_REFUSED": Sentence(
        "Gerbang does not connect to this address.",
        "Use another address or tool, or tell the user: whoever runs Gerbang can allow it.",
    ),
    "HTTP_METHOD": Sentence(
        "The tool names no known HTTP method. Nothing was sent.", "Tell the user; use another tool."
    ),
    "NOT_HTTP": Sentence("The service does not answer in HTTP.", "Tell the user, or use another tool."),
    "TLS_FAILED": Sentence(
        "The service could not show who it is (TLS), so nothing was sent.",
        "Tell the user, or use another tool.",
    ),
    "BAD_BODY": Sentence(
        "The service's answer cannot be read: it is packed in a way that is not known, or broken.",
        "Use another tool, or tell the user.",
    ),
    "HTTP_3XX": Sentence("The service sent the request elsewhere.", "Use another tool, or tell the user."),
    "HTTP_4XX": Sentence(
        "The service refused the request.", "Read its answer, mend the arguments, or use another tool."
    ),
    "HTTP_5XX": Sentence("The service failed.", "Try later, or tell the user."),
    "TOOL_FAILED": Sentence(
        "The tool failed without saying why.", "Use other arguments or another tool, or tell the user."
    ),
    # conflict
    "VERSION_CONFLICT": Sentence(
        "Somebody changed the resource meanwhile.",
        "Read it again, then send the call with its present version.",
    ),
    "ALREADY_EXISTS": Sentence(
        "It exists already.", "Read what is there, and use it or choose another name."
    ),
    "KEY_REUSED": Sentence(
        "Another call, with other arguments, has the same place in its run or the same key.",
        "Give a new call a step_id of its own (it is 1 unless given), a key of its own, or other key fields.",
    ),
    "RESULT_ERASED": Sentence(
        "This call was made before, and its result has been erased.",
        "Do not repeat it. Use a new key or step if it has to be made again.",
    ),
    # output_validation_error, uncertain_effect, cancelled, internal_error
    "OUTPUT_SHAPE": Sentence(
        "The tool's result has the wrong shape.", "Use another tool or other arguments."
    ),
    "OUTPUT_SHAPE/happened": Sentence("The tool's result has the wrong shape.", "Do not repeat the call."),
    "EFFECT_UNKNOWN": Sentence(
        "An earlier attempt of this call may have taken effect; it is not repeated.",
        "Never repeat it. Tell the user that somebody has to look.",
    ),
    "EFFECT_UNKNOWN/refused": Sentence(
        "An earlier attempt of this call may have taken effect, and it may not be sent again now ({code}).",
        "Never repeat it. Tell the user that somebody has to look.",
        "An earlier attempt of this call may have taken effect, and it may not be sent again now.",
    ),
    "RUN_CANCELLED": Sentence(
        "The run was cancelled before this call was sent.", "Stop; start nothing more in this run."
    ),
    "RUN_CANCELLED/running": Sentence(
        "The run was cancelled while this call ran.", "Stop; start nothing more in this run."
    ),
    "REFUSED_BEFORE": Sentence(
        "This call was refused before the run was interrupted, and stays refused.",
        "Propose it anew if it is still wanted.",
    ),
    "RUN_TAKEN_OVER": Sentence(
        "Another process drives this run now, so the call was not made here.",
        "Do nothing: the other process goes on with the run.",
    ),
    "DEADLINE/running": Sentence(
        "The time of this run was up while this call ran.",
        "Finish with what is known, and say what is missing.",
    ),
    "DEADLINE": Sentence(
        "The deadline passed before this call was sent.",
        "Finish with what is known, and say what is missing.",
    ),
    "INTERNAL": Sentence(
        "The tool failed inside ({reference}).",
        "Tell the user; another tool may still work.",
        "The tool failed inside.",
    ),
    **APPROVALS,
    **LIMITS,
}
"""By error code, or code and variant; by error type where the code is a policy's own."""
