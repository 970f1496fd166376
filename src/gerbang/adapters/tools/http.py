"""HTTP requests as the bodies of contracts that are written in files of their own (`http:`)."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gerbang.adapters.tools.egress import own_place
from gerbang.adapters.tools.http_body import HttpTool
from gerbang.adapters.tools.http_definition import REQUEST_FIELDS, BadField, advice, read_definition
from gerbang.adapters.tools.http_pool import HttpPool
from gerbang.adapters.tools.http_template import nearest
from gerbang.contract.build import sealed
from gerbang.errors import ContractError
from gerbang.values import Contract


def http_tool(contract: Contract, block: Mapping[str, Any]) -> HttpTool:
    """Return the tool of a contract and its request: `url`, `method`, `headers`, `header_only`.

    Secrets that the headers name, and arguments that they use, count as named by the contract. The tool
    reaches the host and port of its own URL. Raises ContractError.
    """
    try:
        for field in block:
            if field not in REQUEST_FIELDS:
                raise BadField(field, f"there is no such field{nearest(field, REQUEST_FIELDS)}")
        definition = read_definition(block, contract.parameters["properties"])
    except BadField as error:
        raise ContractError(f"{contract.origin}: http.{error.field}: {error}") from None
    widened = replace(
        contract,
        secrets=tuple(sorted({*contract.secrets, *definition.secrets})),
        sensitive=contract.sensitive | definition.header_arguments,
        annotations={**contract.annotations, "http": definition.note},
        body=definition.digest,
    )
    allowed = own_place(definition.place, trusted=True)
    return HttpTool(sealed(widened), definition, HttpPool(), allowed, tuple(advice(definition)))
