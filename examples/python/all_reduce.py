# SPDX-License-Identifier: BSD-3-Clause
"""The sum of an array over all ranks.

    python -m weft.run -n 4 examples/python/all_reduce.py
"""

import array

import weft

with weft.Communicator() as comm:
    data = array.array("d", [comm.rank, 1.0])
    comm.all_reduce(data)
    if comm.rank == 0:
        print(f"{comm.size} ranks, sums {data.tolist()}")
