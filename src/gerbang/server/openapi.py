"""The OpenAPI 3.1 document, made of the same operations that the routes are made of."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from gerbang import __version__
from gerbang.server.openapi_examples import component_examples, examples_of
from gerbang.server.operation import Answer, Operation, RouteGroup
from gerbang.server.problems import MEDIA_TYPE
from gerbang.server.schemas import ProblemView

_REF: Final = "#/components/schemas/{name}"
_PROBLEMS: Final = {
    400: "The request cannot be read, or names something wrong",
    401: "No valid key came with it",
    403: "Not allowed: by the key's rights, the policy or a person; or a page of another site",
    404: "There is no such thing, or it is not yours to know",
    409: "It conflicts with what is there, or its effect is not known",
    413: "The body is too large",
    415: "The body is not JSON",
    421: "The server was called by a host name that is not its own",
    422: "It was read and does not fit",
    429: "Too many requests; Retry-After says how long to wait",
    500: "Something went wrong inside; it carries a reference",
    501: "This version cannot do that",
    502: "A tool or the model failed",
    503: "Not available now; Retry-After says how long to wait",
    504: "A tool or the model took too long",
}
_EVERYWHERE: Final = (403, 413, 421)
"""Pages of other sites, bodies that are too large and other hosts are refused on every route."""
_PATH_NAME: Final = re.compile(r"\{([a-z_]+)\}")


def document(groups: Sequence[RouteGroup]) -> dict[str, Any]:
    """Return the document of the groups' operations."""
    operations = [item for group in groups for item in group.operations if not item.hidden]
    types = _types(operations)
    schemas = _components(types)
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gerbang",
            "version": __version__,
            "summary": "Gated tool calls and agent runs",
            "description": "What a model proposes is checked, decided, recorded and run once. Errors are "
            "problem documents (RFC 9457) that carry the gate's error taxonomy in `error`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [
            {"name": group.name, "description": group.about}
            for group in groups
            if not all(item.hidden for item in group.operations)
        ],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "examples": component_examples(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "A key of gerbang keys."},
                "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _types(operations: Iterable[Operation]) -> list[Any]:
    found: list[Any] = [ProblemView]
    for operation in operations:
        found += [] if operation.body is None or isinstance(operation.body, dict) else [operation.body]
        found += [answer.type for answer in operation.answers if answer.type not in (None, str)]
    return list(dict.fromkeys(found))


def _components(types: list[Any]) -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF, schema_hook=_raw)
    for kind in types:  # what a type alone cannot say, such as "an integer, however it is written"
        for name, schema in getattr(kind, "SCHEMAS", {}).items():
            schemas[kind.__name__]["properties"][name] = schema
    return dict(sorted(schemas.items()))


def _raw(kind: type) -> dict[str, Any]:
    """Return the schema of raw JSON: in a body it is a call's arguments."""
    if kind is msgspec.Raw:
        return {"type": "object"}
    raise NotImplementedError(kind)


def _schema(kind: Any) -> dict[str, Any]:
    if kind is str:
        return {"type": "string"}
    (found,), _ = msgspec.json.schema_components([kind], ref_template=_REF, schema_hook=_raw)
    schema: dict[str, Any] = found
    return schema


def _operation(operation: Operation) -> dict[str, Any]:
    said: dict[str, Any] = {
        "tags": [operation.tag],
        "operationId": _name(operation),
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": _responses(operation),
        "security": [] if operation.right is None else [{"bearer": []}, {"header": []}],
    }
    if operation.about:
        said["description"] = operation.about
    if operation.right is not None:
        said["x-gerbang-right"] = operation.right
    if operation.body is not None:
        schema = operation.body if isinstance(operation.body, dict) else _schema(operation.body)
        content: dict[str, Any] = {"schema": schema}
        if operation.examples:
            content["examples"] = operation.examples
        said["requestBody"] = {
            "required": operation.body_about != OPTIONAL,
            "content": {"application/json": content},
        }
        if operation.body_about:
            said["requestBody"]["description"] = operation.body_about
    return {key: value for key, value in said.items() if value not in ([], "") or key == "security"}


OPTIONAL: Final = "May be left out."
"""What `body_about` says of a body that need not be sent."""


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    names = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PATH_NAME.findall(operation.path)
    ]
    return names + [
        {
            "name": item.name,
            "in": item.place,
            "required": False,
            "description": item.about,
            "schema": item.schema,
        }
        for item in operation.parameters
    ]


def _responses(operation: Operation) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for given in operation.answers:  # one status may have several types of content
        said, known = _answer(given), answers.get(str(given.status))
        if known is None:
            answers[str(given.status)] = said
        else:
            known["content"] |= said["content"]
    own = next((item for item in operation.answers if item.status >= 400 and item.type is not None), None)
    media, kind = (MEDIA_TYPE, ProblemView) if own is None else (own.content_type, own.type)
    for status in sorted({*operation.problems, *_EVERYWHERE} - {int(known) for known in answers}):
        content = {media: {"schema": _schema(kind)}}
        answers[str(status)] = {"description": _PROBLEMS[status], "content": content}
    for text, answer in answers.items():
        for said in answer.get("content", {}).values():
            if int(text) >= 400 and "example" not in said:
                said["examples"] = examples_of(operation, int(text))
    return answers


def _answer(answer: Answer) -> dict[str, Any]:
    if answer.type is None:
        return {"description": answer.about}
    content: dict[str, Any] = {"schema": _schema(answer.type)}
    if answer.example is not None:
        content["example"] = answer.example
    return {"description": answer.about, "content": {answer.content_type: content}}


def _name(operation: Operation) -> str:
    path = operation.path.replace("{", "").replace("}", "").strip("/").replace("/", "_")
    return f"{operation.method.lower()}_{path}".replace(".", "_")
