#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the example programs of this folder in the XML format of msccl-tools.

    python3 generate.py            writes all of them here
"""
import os
import sys
from xml.sax.saxutils import quoteattr


def step(number, kind, src=("i", -1), dst=("o", -1), cnt=1, dep=(-1, -1)):
    fields = dict(s=number, type=kind, srcbuf=src[0], srcoff=src[1], dstbuf=dst[0],
                  dstoff=dst[1], cnt=0 if kind == "nop" else cnt, depid=dep[0], deps=dep[1],
                  hasdep=0)
    return "      <step " + attributes(fields) + "/>"


def attributes(fields):
    return " ".join(f"{key}={quoteattr(str(value))}" for key, value in fields.items())


def program(head, gpus):
    """gpus: for each gpu its three chunk counts and a list of (send, recv, chan, steps)."""
    lines = ["<!-- SPDX-License-Identifier: BSD-3-Clause. Written by generate.py. -->"]
    lines.append("<algo " + attributes(dict(head, ngpus=len(gpus))) + ">")
    for rank, (chunks, tbs) in enumerate(gpus):
        sizes = dict(zip(("i_chunks", "o_chunks", "s_chunks"), chunks))
        lines.append("  <gpu " + attributes(dict(id=rank, **sizes)) + ">")
        for number, (send, recv, chan, steps) in enumerate(tbs):
            lines.append("    <tb " + attributes(dict(id=number, send=send, recv=recv, chan=chan))
                         + ">")
            lines += [step(i, *one) for i, one in enumerate(steps)]
            lines.append("    </tb>")
        lines.append("  </gpu>")
    lines.append("</algo>")
    return "\n".join(lines) + "\n"


def head(name, coll, chunks, inplace, outofplace, channels=1):
    return dict(name=name, proto="Simple", nchannels=channels, nchunksperloop=chunks, coll=coll,
                inplace=inplace, outofplace=outofplace)


def allpairs_all_reduce(n):
    """In place. Every gpu reduces its own chunk: tb p talks to one peer, one more tb adds up."""
    gpus = []
    for rank in range(n):
        peers = [p for p in range(n) if p != rank]
        adder = len(peers)
        tbs = []
        for place, peer in enumerate(peers):
            tbs.append((peer, peer, 0, [
                ("s", ("i", peer), ("s", 0)),
                ("r", ("i", rank), ("s", place)),
                ("s", ("i", rank), ("i", rank), 1, (adder, 2 * len(peers) - 2)),
                ("r", ("i", peer), ("i", peer)),
            ]))
        waits = [("nop", ("i", -1), ("o", -1), 0, (place, 1)) for place in range(1, len(peers))]
        adds = [("re", ("s", place), ("i", rank), 1, (0, 1) if place == 0 else (-1, -1))
                for place in range(len(peers))]
        tbs.append((-1, -1, 0, waits + adds))
        gpus.append(((n, 0, n - 1), tbs))
    return program(head(f"allpairs_{n}", "allreduce", n, 1, 0), gpus)


def ring_all_gather(n):
    """Out of place. After step s gpu r has blocks r, r-1, ... r-s."""
    gpus = []
    for rank in range(n):
        before = [(rank - 1 - s) % n for s in range(n - 1)]
        steps = [("s", ("i", 0), ("o", rank))]
        steps += [("rcs", ("i", 0), ("o", block)) for block in before[:-1]]
        steps += [("r", ("i", 0), ("o", before[-1])), ("cpy", ("i", 0), ("o", rank))]
        gpus.append(((1, n, 0), [((rank + 1) % n, (rank - 1) % n, 0, steps)]))
    return program(head(f"ring_{n}", "allgather", n, 0, 1), gpus)


def ring_reduce_scatter(n):
    """In place. A partial sum of block b starts at gpu b+1 and ends at gpu b."""
    gpus = []
    for rank in range(n):
        first = (rank - 1) % n
        steps = [("s", ("i", first), ("i", first))]
        steps += [("rrs", ("i", (rank - 1 - s) % n), ("i", (rank - 1 - s) % n))
                  for s in range(1, n - 1)]
        steps += [("rrc", ("i", rank), ("i", rank))]
        gpus.append(((n, 0, 0), [((rank + 1) % n, (rank - 1) % n, 0, steps)]))
    return program(head(f"ring_{n}", "reduce_scatter", n, 1, 0), gpus)


def pairs_all_to_all(n):
    """Out of place. One tb per peer, and one that copies."""
    gpus = []
    for rank in range(n):
        tbs = [(peer, peer, 0, [("s", ("i", peer), ("o", rank)), ("r", ("i", rank), ("o", peer))])
               for peer in range(n) if peer != rank]
        tbs.append((-1, -1, 0, [("cpy", ("i", rank), ("o", rank))]))
        gpus.append(((n, n, 0), tbs))
    return program(head(f"pairs_{n}", "alltoall", n, 0, 1), gpus)


def chain_broadcast(n, root):
    """Out of place, from `root` up."""
    gpus = []
    for rank in range(n):
        place = (rank - root) % n
        up, down = (rank + 1) % n if place < n - 1 else -1, (rank - 1) % n if place > 0 else -1
        steps = [("s", ("i", 0), ("o", 0)), ("cpy", ("i", 0), ("o", 0))] if place == 0 else \
                [("rcs" if up >= 0 else "r", ("i", 0), ("o", 0))]
        gpus.append(((1, 1, 0), [(up, down, 0, steps)]))
    return program(head(f"chain_{n}", "broadcast", 1, 0, 1), gpus)


def exchange_that_hangs():
    """Both gpus send eight chunks before they take one: right only where a queue has room for all
    slices of eight chunks. The shape is that of the all-pairs programs in use."""
    gpus = []
    for rank in range(2):
        mine, theirs = 8 * rank, 8 * (1 - rank)
        gpus.append(((16, 0, 8), [(1 - rank, 1 - rank, 0, [
            ("s", ("i", theirs), ("s", 0), 8),
            ("r", ("i", mine), ("s", 0), 8),
            ("re", ("s", 0), ("i", mine), 8),
            ("s", ("i", mine), ("i", mine), 8),
            ("r", ("i", theirs), ("i", theirs), 8),
        ])]))
    return program(head("exchange_2", "allreduce", 16, 1, 0), gpus)


FILES = {
    "allpairs-all-reduce-4.xml": lambda: allpairs_all_reduce(4),
    "ring-all-gather-4.xml": lambda: ring_all_gather(4),
    "ring-reduce-scatter-4.xml": lambda: ring_reduce_scatter(4),
    "pairs-all-to-all-4.xml": lambda: pairs_all_to_all(4),
    "chain-broadcast-4-root-1.xml": lambda: chain_broadcast(4, 1),
    "hangs-all-reduce-2.xml": exchange_that_hangs,
}


def main():
    folder = os.path.dirname(os.path.abspath(__file__)) if len(sys.argv) < 2 else sys.argv[1]
    for name, write in FILES.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as out:
            out.write(write())


if __name__ == "__main__":
    main()
