"""The address of a store as it may be shown to anybody."""


def shown_address(url: str) -> str:
    """Return the address without what may be secret: a password, and the parameters after `?`."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url
    account, at, place = rest.partition("?")[0].rpartition("@")
    return f"{scheme}://{account.partition(':')[0]}{at}{place}"
