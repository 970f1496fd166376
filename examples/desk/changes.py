"""Bodies of the tools that change something."""

from desk.reads import REFUNDS


async def create_draft_pr(
    repository: str, branch: str, base_branch: str, title: str, summary: str
) -> dict[str, object]:
    return {"number": 7}


async def refund(order: str, cents: int, reason: str, key: str) -> dict[str, object]:
    return {"refund": REFUNDS.setdefault((order, cents), f"refund-{key[:4]}")}


async def send_mail(to: str, subject: str, body: str) -> dict[str, object]:
    return {"message_id": "m-1"}


async def update_ticket(ticket: str, state: str, version: int, note: str) -> dict[str, object]:
    return {"version": version + 1}


async def create_event(title: str, begins: str, ends: str, user: str) -> dict[str, object]:
    return {"event": f"{user}-1"}


async def cancel_event(event: str, version: int, user: str) -> dict[str, object]:
    return {"event": event}


async def delete_customer(customer: str, request: str, version: int) -> dict[str, object]:
    return {"rows": 12}


async def deploy(service: str, version: str, environment: str) -> dict[str, object]:
    return {"rollout": "r-1"}
