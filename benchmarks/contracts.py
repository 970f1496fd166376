"""What ten thousand contracts cost to load and to find.

Contracts of 25 lines with a schema of their own each, in ten files of YAML or JSON: reading, checking,
compiling and digesting all of them, then making the catalogue. `floor` is what the YAML library takes by
itself to read the same files. Times are CPU seconds of one thread, the best of the rounds. A look-up is by
canonical name, in catalogues of 100 and of 10,000 tools, in an order that the processor's caches do not know;
exposure is limited by 200 tenants.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from harness import markdown, program, verdict

from gerbang.adapters.tools.contract_files import load_contracts
from gerbang.contract.catalogue import Catalogue
from gerbang.contract.schema import _compile

COUNT = 10_000
FILES = 10
MAX_SECONDS = 2.0
MAX_LOOK_UP_S = 1e-6
CONTRACT = """\
name: team{n}.get_ticket.v1
risk: read_internal
description: Reads one ticket.
guidance:
  when_to_use: The user asks about a ticket that they name.
  when_not: For lists of tickets.
  returns_text: The ticket with its state and its last messages.
parameters:
  type: object
  properties:
    ticket:
      type: string
      pattern: "^T-[0-9]{{1,9}}$"
      description: Number of the ticket, such as T-{n}
    messages:
      type: integer
      minimum: 0
      maximum: 50
  required: [ticket]
arguments:
  ticket: {{role: control, resource: ticket}}
side_effects: {{kind: none}}
scopes: [tickets]
expose: {{tenants: [tenant{tenant}]}}
timeout_s: 10
"""


def table(quick: bool = False) -> str:
    """Measure and return the tables."""
    rounds, count = (1, 2_000) if quick else (2, COUNT)
    with tempfile.TemporaryDirectory() as folder:
        as_yaml, as_json = Path(folder, "yaml"), Path(folder, "json")
        write(as_yaml, as_json, count)
        floor = best(rounds, lambda: [list(read(path)) for path in sorted(as_yaml.iterdir())])
        load_yaml = best(rounds, lambda: load(as_yaml))
        load_json = best(rounds, lambda: load(as_json))
        tools = load_contracts(as_yaml)
    contracts = [tool.contract for tool in tools]
    whole = Catalogue(contracts)
    rows = [
        ("floor: YAML to dicts", f"{floor:.2f} s", f"{floor / count * 1e6:.0f} us"),
        ("load from YAML", f"{load_yaml:.2f} s", f"{load_yaml / count * 1e6:.0f} us"),
        ("load from JSON", f"{load_json:.2f} s", f"{load_json / count * 1e6:.0f} us"),
    ]
    small = per_look_up(Catalogue(contracts[:100]), rounds)
    large = per_look_up(whole, rounds)
    first = best(1, lambda: whole.subset(tenant="tenant7"))
    again = best(rounds, lambda: [whole.subset(tenant="tenant7") for _ in range(1000)]) / 1000
    more = [
        ("find a name among 100", f"{small * 1e9:.0f} ns"),
        (f"find a name among {count}", f"{large * 1e9:.0f} ns"),
        ("exposure for a new tenant", f"{first * 1e3:.1f} ms"),
        ("exposure for a tenant seen before", f"{again * 1e6:.1f} us"),
    ]
    held = verdict(load_yaml <= MAX_SECONDS * count / COUNT)
    flat = verdict(max(small, large) <= MAX_LOOK_UP_S)
    loads = markdown((f"{count} contracts", "CPU", "each"), rows)
    return (
        f"{loads}\n\n{markdown(('look-up', 'time'), more)}\n\n"
        f"Bounds: {COUNT} contracts load in at most {MAX_SECONDS:g} s: {held}. A look-up takes at most "
        f"{MAX_LOOK_UP_S * 1e6:g} us, among 100 as among {count}: {flat}."
    )


def write(as_yaml: Path, as_json: Path, count: int) -> None:
    """Write the same contracts in both forms."""
    as_yaml.mkdir()
    as_json.mkdir()
    each = count // FILES
    for file in range(FILES):
        texts = [CONTRACT.format(n=n, tenant=n % 200) for n in range(file * each, (file + 1) * each)]
        Path(as_yaml, f"{file}.yaml").write_text("---\n".join(texts))
        values = list(read(Path(as_yaml, f"{file}.yaml")))
        Path(as_json, f"{file}.json").write_text(json.dumps(values))


def read(path: Path) -> Any:
    """Read a file with the YAML library's fastest loader."""
    return yaml.load_all(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def load(folder: Path) -> None:
    """Load all contracts with nothing compiled beforehand, and make the catalogue."""
    _compile.cache_clear()
    Catalogue(tool.contract for tool in load_contracts(folder))


def per_look_up(catalogue: Catalogue, rounds: int) -> float:
    """Return the seconds of one look-up, over all names of the catalogue in a fixed mixed order."""
    names = sorted(catalogue.names, key=lambda name: name[::-1])
    repeat = max(1, 100_000 // len(names))

    def all_names() -> None:
        find = catalogue.find
        for _ in range(repeat):
            for name in names:
                find(name)

    return best(rounds, all_names) / (repeat * len(names))


def best(rounds: int, work: Callable[[], Any]) -> float:
    """Return the CPU seconds of the quickest round."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


if __name__ == "__main__":
    program(table)
