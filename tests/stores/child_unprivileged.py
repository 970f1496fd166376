"""Opens the store named by the argument as a user without rights and prints what happened."""

import asyncio
import os
import sys

from gerbang.adapters.stores.sqlite import SqliteStore
from gerbang.errors import StoreError


async def main() -> None:
    store = SqliteStore(sys.argv[1])
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        await store.open()
        print("opened")
    except StoreError as fault:
        print(type(fault).__name__, fault)
    await store.close()


asyncio.run(main())
