# SPDX-License-Identifier: BSD-3-Clause
"""torch.distributed over weft beside gloo, in one job: all-reduce from 8 B to 64 MiB, blocking.

    torchrun --standalone --nproc-per-node 2 bench/torch_beside_gloo.py [--rounds N] [--seconds S]

The two backends take turns: in a round each runs every size for S seconds. Reported are medians
over the rounds of the mean time of a call, and medians of the rounds' own ratios. Rank 0 writes
torch.json, torch.md and torch.svg to bench/results, or to the folder of --out.
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
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--seconds", type=float, default=0.15, help="of one size in a round")
    words.add_argument("--out", default=os.path.join(HERE, "results"))
    return words.parse_args()


def measure(tensor, group, seconds):
    """Microseconds of a call, the mean of a loop."""
    dist.all_reduce(tensor, group=group)
    begin = time.perf_counter()
    for _ in range(3):
        dist.all_reduce(tensor, group=group)
    # The slowest rank's guess, so that all loop equally often.
    guess = torch.tensor([(time.perf_counter() - begin) / 3])
    dist.all_reduce(guess, op=dist.ReduceOp.MAX, group=group)
    count = max(3, min(20000, int(seconds / guess.item())))
    dist.barrier(group)
    begin = time.perf_counter()
    for _ in range(count):
        dist.all_reduce(tensor, group=group)
    return (time.perf_counter() - begin) / count * 1e6


def measure_all(groups, rounds, seconds):
    times = {name: {size: [] for size in SIZES} for name in BACKENDS}
    for _ in range(rounds):
        for size in SIZES:
            tensor = torch.zeros(size // 4)
            for name in BACKENDS:
                times[name][size].append(measure(tensor, groups[name], seconds))
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


def write(rows, folder, rounds, size):
    import plots

    with open(os.path.join(folder, "torch.json"), "w", encoding="utf-8") as file:
        json.dump({"torch": torch.__version__, "ranks": size, "rounds": rounds, "rows": rows}, file,
                  indent=1)
        file.write("\n")
    lines = ["# torch.distributed: weft beside gloo", "",
             "Made by `bench/torch_beside_gloo.py`: blocking `all_reduce` of fp32, "
             f"{size} processes on one machine of {os.cpu_count()} cores,",
             f"torch {torch.__version__}; medians of {rounds} rounds in which the backends took turns.",
             "",
             "| bytes | weft, µs | gloo, µs | ratio |", "|---:|---:|---:|---:|"]
    for row in rows:
        lines.append(f"| {plots.bytes_text(row['bytes'])} | {row['weft']:.1f} | {row['gloo']:.1f} "
                     f"| {row['ratio']:.3f} |")
    lines += ["", "| bar | limit | worst | at | |", "|---|---:|---:|---:|---|"]
    for name, limit, row in verdicts(rows):
        verdict = "pass" if row["ratio"] <= limit else "MISSED"
        lines.append(f"| {name} | {limit:g} x | {row['ratio']:.3f} "
                     f"| {plots.bytes_text(row['bytes'])} | {verdict} |")
    with open(os.path.join(folder, "torch.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    series = [(name, name, {row["bytes"]: row[name] for row in rows}) for name in BACKENDS]
    panel = plots.Panel("torch.distributed.all_reduce", "time of a blocking call", series,
                        plots.time_text)
    plots.picture(os.path.join(folder, "torch.svg"), "", [panel], columns=1, width=620)
    print("\n".join(lines))


def main():
    options = parse()
    torch.set_num_threads(1)
    if not hasattr(dist.Backend, "_ensure_backend_registered"):
        import weft.torch  # noqa: F401
    dist.init_process_group("weft")
    groups = {"weft": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    rows = summary(measure_all(groups, options.rounds, options.seconds))
    if dist.get_rank() == 0:
        write(rows, options.out, options.rounds, dist.get_world_size())
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
