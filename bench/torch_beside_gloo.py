# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over weft beside gloo, in one job: calls of 8 B to 64 MiB.

    torchrun --standalone --nproc-per-node 2 bench/torch_beside_gloo.py [--call CALL] [--rounds N]
        [--seconds S]

The two backends take turns: in a round each runs every size for S seconds. Reported are medians
over the rounds of the mean time of a call, and medians of the rounds' own ratios. Rank 0 writes
torch.json, torch.md and torch.svg to bench/results, or to the folder of --out. The calls of earlier
runs stay in torch.json and torch.md; all that are there are measured by

    for call in all_reduce …; do torchrun … --call $call; done
"""

import argparse
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "beside"))
sys.dont_write_bytecode = True

SIZES = [8 * 4 ** i for i in range(12)] + [64 << 20]
BACKENDS = ("weft", "gloo")


def parse():
    words = argparse.ArgumentParser(description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--call", choices=CALLS, default="all_reduce")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--seconds", type=float, default=0.15, help="of one size in a round")
    words.add_argument("--out", default=os.path.join(HERE, "results"))
    return words.parse_args()


def exchange(tensor, other, group):
    """A message there and one back, as one batch."""
    peer = dist.get_rank() ^ 1
    operations = [dist.P2POp(dist.isend, tensor, peer, group),
                  dist.P2POp(dist.irecv, other, peer, group)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()


def ping_pong(tensor, other, group):
    """To the other rank and back."""
    peer = dist.get_rank() ^ 1
    if peer:
        dist.send(tensor, peer, group)
        dist.recv(other, peer, group)
    else:
        dist.recv(other, peer, group)
        dist.send(tensor, peer, group)


# Each with a tensor of the size in bytes, and one of ranks times that size.
CALLS = {
    "all_reduce": lambda one, all, group: dist.all_reduce(one, group=group),
    "all_reduce, async": lambda one, all, group: dist.all_reduce(
        one, group=group, async_op=True).wait(),
    "broadcast": lambda one, all, group: dist.broadcast(one, 0, group=group),
    "reduce": lambda one, all, group: dist.reduce(one, 0, group=group),
    "all_gather": lambda one, all, group: dist.all_gather_into_tensor(all, one, group=group),
    "reduce_scatter": lambda one, all, group: dist.reduce_scatter_tensor(one, all, group=group),
    "all_to_all": lambda one, all, group: dist.all_to_all_single(all[:len(one)], one, group=group),
    "exchange": lambda one, all, group: exchange(one, all[:len(one)], group),
    "ping_pong": lambda one, all, group: ping_pong(one, all[:len(one)], group),
}


def measure(call, buffers, group, seconds):
    """Microseconds of a call, the mean of a loop."""
    call(*buffers, group)
    begin = time.perf_counter()
    for _ in range(3):
        call(*buffers, group)
    # The slowest rank's guess, so that all loop equally often.
    guess = torch.tensor([(time.perf_counter() - begin) / 3])
    dist.all_reduce(guess, op=dist.ReduceOp.MAX, group=group)
    count = max(3, min(20000, int(seconds / guess.item())))
    dist.barrier(group)
    begin = time.perf_counter()
    for _ in range(count):
        call(*buffers, group)
    return (time.perf_counter() - begin) / count * 1e6


def measure_all(call, groups, rounds, seconds):
    times = {name: {size: [] for size in SIZES} for name in BACKENDS}
    for _ in range(rounds):
        for size in SIZES:
            buffers = torch.zeros(size // 4), torch.zeros(size // 4 * dist.get_world_size())
            for name in BACKENDS:
                times[name][size].append(measure(call, buffers, groups[name], seconds))
    return times


def summary(times):
    rows = []
    for size in SIZES:
        weft, gloo = times["weft"][size], times["gloo"][size]
        rows.append({"bytes": size, "weft": statistics.median(weft),
                     "gloo": statistics.median(gloo),
                     "ratio": statistics.median(a / b for a, b in zip(weft, gloo))})
    return rows


def verdicts(rows):
    """The bars, and the worst size of each."""
    worst = max(rows, key=lambda row: row["ratio"])
    small = max((row for row in rows if row["bytes"] <= 1 << 20), key=lambda row: row["ratio"])
    return [("never slower than gloo", 1.0, worst), ("up to 1 MiB", 0.3, small)]


def table(call, rows):
    import plots

    lines = ["", f"## {call}", "", "| bytes | weft, µs | gloo, µs | ratio |",
             "|---:|---:|---:|---:|"]
    for row in rows:
        lines.append(f"| {plots.bytes_text(row['bytes'])} | {row['weft']:.1f} | {row['gloo']:.1f} "
                     f"| {row['ratio']:.3f} |")
    return lines


def bars(calls):
    """The bars over all calls that were measured."""
    import plots

    lines = ["", "| call | bar | limit | worst | at | |", "|---|---|---:|---:|---:|---|"]
    for call, measured in calls.items():
        for name, limit, row in verdicts(measured["rows"]):
            verdict = "pass" if row["ratio"] <= limit else "MISSED"
            lines.append(f"| {call} | {name} | {limit:g} x | {row['ratio']:.3f} "
                         f"| {plots.bytes_text(row['bytes'])} | {verdict} |")
    return lines


def write(call, rows, folder, rounds, size):
    import plots

    path = os.path.join(folder, "torch.json")
    calls = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            calls = json.load(file).get("calls", {})
    calls[call] = {"torch": torch.__version__, "ranks": size, "rounds": rounds, "rows": rows}
    calls = {name: calls[name] for name in CALLS if name in calls}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"calls": calls}, file, indent=1)
        file.write("\n")
    lines = ["# torch.distributed: weft beside gloo", "",
             f"Made by `bench/torch_beside_gloo.py`: fp32, {size} processes on one machine of "
             f"{os.cpu_count()} cores, torch {torch.__version__};",
             f"medians of {rounds} rounds in which the backends took turns. Calls block but where "
             "they say async; an exchange is one",
             "`batch_isend_irecv` of a message each way; a ping-pong is two messages."]
    lines += bars(calls)
    for name, measured in calls.items():
        lines += table(name, measured["rows"])
    with open(os.path.join(folder, "torch.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    if call == "all_reduce":
        series = [(name, name, {row["bytes"]: row[name] for row in rows}) for name in BACKENDS]
        panel = plots.Panel("torch.distributed.all_reduce", "time of a blocking call", series,
                            plots.time_text)
        plots.picture(os.path.join(folder, "torch.svg"), "", [panel], columns=1, width=620)
    print("\n".join(table(call, rows) + bars({call: calls[call]})))


def main():
    options = parse()
    torch.set_num_threads(1)
    if not hasattr(dist.Backend, "_ensure_backend_registered"):
        import weft.torch  # noqa: F401
    dist.init_process_group("weft")
    groups = {"weft": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    rows = summary(measure_all(CALLS[options.call], groups, options.rounds, options.seconds))
    if dist.get_rank() == 0:
        write(options.call, rows, options.out, options.rounds, dist.get_world_size())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
