# SPDX-License-Identifier: BSD-3-Clause
"""Requests in asyncio: two sums at once, and something else meanwhile.

    python -m weft.run -n 2 examples/python/asynchronous.py
"""

import array
import asyncio

import weft


async def work(comm):
    a, b = array.array("d", [1.0]), array.array("d", [2.0])

    async def total(data):
        await comm.start.all_reduce(data)
        return data[0]

    sums = await asyncio.gather(total(a), total(b))
    print(f"rank {comm.rank}: sums {sums}")


with weft.Communicator() as comm:
    asyncio.run(work(comm))
