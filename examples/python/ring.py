# SPDX-License-Identifier: BSD-3-Clause
"""A token goes once around the ring, then all ranks pass their numbers to the right at once.

    python -m weft.run -n 4 examples/python/ring.py
"""

import array

import weft

with weft.Communicator() as comm:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    token = array.array("q", [0])
    if comm.rank == 0 and comm.size > 1:
        comm.send(token, right)
        comm.recv(token, left)
        print("the token has passed", token[0], "ranks")
    elif comm.size > 1:
        comm.recv(token, left)
        token[0] += 1
        comm.send(token, right)

    mine, theirs = array.array("q", [comm.rank]), array.array("q", [-1])
    with weft.group():
        comm.send(mine, right)
        comm.recv(theirs, left)
    print(f"rank {comm.rank} has the number of rank {theirs[0]}")
