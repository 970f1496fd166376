"""English sentences about single fields of a call."""

from typing import Final

FIELDS: Final[dict[str, str]] = {
    "falseSchema": "Nothing is allowed here.",
    "additionalProperties": "This field does not exist; leave it out.",
    "renamed": "This field does not exist; did you mean {name}?",
    "required": "This field is required.",
    "runtime": "Filled by the runtime.",
    "type": "Must be {wanted}, not {given}.",
    "enum": "Must be one of {options}.",
    "const": "Must be {value}.",
    "maxLength": "Must have at most {limit:character|characters}.",
    "minLength": "Must have at least {limit:character|characters}.",
    "maxItems": "Must have at most {limit:item|items}.",
    "minItems": "Must have at least {limit:item|items}.",
    "maximum": "Must be at most {limit}.",
    "minimum": "Must be at least {limit}.",
    "exclusiveMaximum": "Must be less than {limit}.",
    "exclusiveMinimum": "Must be more than {limit}.",
    "pattern": "Must match the pattern {pattern}.",
    "format": "Must be a valid {format}.",
    "multipleOf": "Must be a multiple of {step}.",
    "deep": "Does not fit the schema. The value is nested too deeply to say where; send less.",
    "other": "Does not fit the schema ({keyword}).",
    # what semantic validators say
    "differs": "{one} and {other} must differ.",
    "no_number": "{name} is not a number.",
    "at_least": "{name} must be at least {limit}.",
    "at_most": "{name} must be at most {limit}.",
    "date_form": "{name} is not a date (write 2026-01-31 or RFC 3339).",
    "date_past": "{name} lies in the past.",
    "date_future": "{name} lies in the future.",
    "date_far": "{name} is more than {days:day|days} away.",
    "date_before": "{name} lies before {former}.",
    "no_thing": "The thing to change does not exist.",
    "no_such": "There is no {given}.",
    "transition": "From {present} one can go to {known}, not to {target}.",
    "no_transition": "From {present} one can go to nothing, so not to {target}.",
    "old_version": "{name} is not the present version: read it again.",
    "unread": "Read it first with {wanted}.",
    "no_call": "No call of this run is called {names}.",
    "no_reason": "{name} must name calls of this run that show the reason.",
    "foreign": "This {kind} is not the tenant's.",
    "off_goal": "This tool does not serve the goal of this run.",
}
"""Sentences about one field, by the keyword of the schema that is not met or the check that failed."""

OR: Final = " or "
"""Stands between the types that a field may have."""
