# SPDX-License-Identifier: BSD-3-Clause
"""What was measured, as tables and plots: everything here is made from bench/results/compare.json alone."""
import os
import re
import statistics

import bars
import plots
import sides
from sides import ROOT, TITLES

RESULTS = os.path.join(ROOT, "bench", "results")
FIGURES = os.path.join(ROOT, "docs", "figures")
# Graphs of docs/performance.md that need more than an all-reduce of two ranks.
GRAPHS = {"limit": "distance to the limit over the number of ranks",
          "collectives-shm": "distance of each collective to the limit and to Open MPI, shared memory",
          "collectives-tcp": "distance of each collective to the limit and to Open MPI, TCP",
          "p2p-shm": "ping-pong and stream over shared memory", "p2p-tcp": "ping-pong and stream over TCP",
          "ranks": "joining, the first call and memory over the number of ranks"}
OTHERS = ("openmpi", "mpich", "gloo", "exchange", "limit")


def times_of(series, side):
    """{size: median over the rounds}"""
    found = series["sides"].get(side, {})
    found = {int(size): [value for value in values if value] for size, values in found.items()}
    return {size: statistics.median(values) for size, values in found.items() if values}


def ratios_of(series, side, other):
    """{size: median of the rounds' ratios}, of rounds in which both were measured."""
    mine, theirs = series["sides"].get(side, {}), series["sides"].get(other, {})
    found = {}
    for size in mine:
        pairs = [a / b for a, b in zip(mine[size], theirs.get(size, [])) if a and b]
        if pairs:
            found[int(size)] = statistics.median(pairs)
    return found


def distance_of(series, side):
    """{size: how far off the limit of its own kind of memory}; of series without that one, the limit of plain memory."""
    own = sides.LIMIT_OF.get(side, "limit")
    return ratios_of(series, side, own if times_of(series, own) else "limit")


def name_of(key):
    coll, transport, ranks = key.split("/")
    return coll, {"shm": "shared memory", "tcp": "TCP"}[transport], int(ranks)


def present(series):
    return [side for side in sides.SIDES if times_of(series, side)]


def number(value):
    if value is None:
        return "-"
    return f"{value:.2g}" if value < 0.095 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def lines_text(series):
    """How far apart the cores were: it explains rounds that differ."""
    lines = series.get("line")
    return f" A cache line took {min(lines):.3f} to {max(lines):.3f} µs from core to core." if lines else ""


def is_drawn(key):
    """A barrier has one size, which is no curve."""
    return not key.startswith("barrier/")


def table(key, series):
    coll, transport, ranks = name_of(key)
    there = present(series)
    heads = ["bytes"]
    for side in there:
        heads.append(f"{TITLES[side]}, µs")
        if side in OTHERS:
            heads.append(f"weft / {TITLES[side]}")
        if side == "limit-window":
            heads.append("weft, windows / limit, windows")
    out = [f"### {coll}, {transport}, {ranks} ranks", "", f"{series['date']}, {series['commit']}, {series['rounds']} rounds.{lines_text(series)}",
           "", "| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    for size in sorted({int(size) for side in there for size in series["sides"][side]}):
        cells = [str(size)]
        for side in there:
            cells.append(number(times_of(series, side).get(size)))
            if side in OTHERS:
                cells.append(number(ratios_of(series, "weft", side).get(size)))
            if side == "limit-window":
                cells.append(number(distance_of(series, "weft-window").get(size)))
        out.append("| " + " | ".join(cells) + " |")
    out.append("")
    if is_drawn(key):
        out += [f"![{coll}, {transport}, {ranks} ranks]({key.replace('/', '-')}.svg)", ""]
    for side, why in sorted(series.get("why", {}).items()):
        out += [f"{TITLES[side]} is incomplete: {why}", ""]
    return out


def write_tables(results):
    machine = results["machine"]
    out = ["# weft beside Open MPI, MPICH and Gloo", "", machine, "",
           "Made by `bench/compare`. Times are medians of single iterations, of what has a root the mean, averaged over",
           "the ranks, then medians over rounds in which the libraries took turns. A ratio is the median of the rounds' own ratios; below 1 weft is",
           "faster. The limit over shared memory: each input read once and each output written once by as many threads,",
           "at least the way of one cache line. Over TCP: the same bytes over plain sockets, without messages and sums.",
           ""]
    out += bars_table(results)
    for key in sorted(results["series"], key=order):
        out += table(key, results["series"][key])
    with open(os.path.join(RESULTS, "compare.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(out).rstrip() + "\n")


def order(key):
    coll, transport, ranks = key.split("/")
    return transport, int(ranks), sides.COLLECTIVES.index(coll)


def verdict(run):
    """A value and what it means, or "-" where there was no run."""
    if run is None:
        return "-"
    return f"{'-' if run['value'] is None else format(run['value'], '.3g')} {run['words']}"


def last_three(bar):
    return (bar["runs"][::-1] + [None, None])[:3]


def limit_text(bar):
    return f"{bar['op']} {bar['limit']:g}" + ("" if bar["unit"] == "-" else f" {bar['unit']}")


def verdicts(results, names):
    """The last three runs of these bars side by side, for the terminal."""
    out = [f"{'bar':24} {'limit':12} {'newest':28} {'before':28} before that"]
    for name in names:
        cells = [verdict(run) for run in last_three(results["bars"][name])]
        out.append(f"{name:24} {limit_text(results['bars'][name]):12} {cells[0]:28} {cells[1]:28} {cells[2]}")
    return out


def bars_table(results):
    if not results["bars"]:
        return []
    measured = {bar["name"]: " ".join(bar["measurement"]) for bar in bars.read_bars()}
    out = ["## Bars", "", "The last three runs, the newest first. `bench/beside/bars.txt` is the list.", "",
           "| bar | what is measured | limit | newest | before | before that | | what would close it |",
           "|---|---|---:|---|---|---|---|---|"]
    for name, bar in results["bars"].items():
        runs = last_three(bar)
        detail = (runs[0]["detail"] or "").replace("|", "\\|")
        missed = any(run and not run["passed"] for run in runs)
        close = f"[{name}](../../{bars.section_of(name)})" if missed else ""
        out.append(f"| {name} | {measured.get(name, '')} | {limit_text(bar)} | "
                   f"{' | '.join(verdict(run) for run in runs)} | {detail} | {close} |")
    return [*out, "", "## Times", ""]


def missed_bars(results):
    """Names and shortfalls of the bars that the newest run missed, in one table."""
    rows = [(name, bar, bar["runs"][-1]) for name, bar in results["bars"].items() if not bar["runs"][-1]["passed"]]
    head = f"{len(results['bars']) - len(rows)} of {len(results['bars'])} bars passed in their newest run."
    out = [f"{head} Missed:", "", "| bar | limit | found | |", "|---|---:|---:|---|"]
    for name, bar, run in rows:
        found = "-" if run["value"] is None else f"{run['value']:.3g}"
        detail = (run["detail"] or "").replace("|", "\\|")
        section = bars.section_of(name).partition("#")[2]
        out.append(f"| [{name}](#{section}) | {limit_text(bar)} | {found} | {run['words']}. {detail} |")
    return out if rows else [head]


def lines_of(series, measure):
    return [(side, TITLES[side], measure(side)) for side in present(series)]


def time_panel(key, series):
    coll, transport, ranks = name_of(key)
    lines = lines_of(series, lambda side: times_of(series, side))
    return plots.Panel(f"{coll}, {transport}, {ranks} ranks", "time of one call", lines, plots.time_text)


def ratio_panel(key, series):
    coll, transport, ranks = name_of(key)
    lines = lines_of(series, lambda side: {} if side.startswith("weft") or side == "limit-window"
                     else ratios_of(series, "weft", side))
    return plots.Panel(f"weft's time / other's, {coll}, {ranks} ranks", "below 1 weft is faster", lines,
                       plots.ratio_text, mark=1)


def write_plots(results):
    for key, series in results["series"].items():
        if not is_drawn(key):
            continue
        path = os.path.join(RESULTS, key.replace("/", "-") + ".svg")
        plots.picture(path, "", [time_panel(key, series), ratio_panel(key, series)],
                      note=f"{series['date']}, {series['rounds']} rounds; {results['machine']}")


def write_overview(results):
    """The picture of the README."""
    panels = [time_panel(key, results["series"][key]) for key in ("all_reduce/shm/2", "all_reduce/tcp/2")
              if key in results["series"]]
    if panels:
        plots.picture(os.path.join(FIGURES, "performance-overview.svg"), "", panels, columns=len(panels))


def readme_words(results):
    """How fast it is, for the top of the page."""
    sizes = (8, 2097152, 134217728)
    parts = []
    for transport, word in (("shm", "shared memory"), ("tcp", "TCP")):
        found = ratios_of(results["series"].get(f"all_reduce/{transport}/2", {"sides": {}}), "weft", "openmpi")
        if all(found.get(size) is not None for size in sizes):
            parts.append(f"{word} " + ", ".join(number(found[size]) for size in sizes))
    return ["All-reduce of two ranks on two cores of a virtual machine, weft's time divided by Open MPI's at "
            + ", ".join(plots.bytes_text(size) for size in sizes) + ":",
            "; ".join(parts or ["not measured"]) + ". Below 1 weft is faster.",
            "[More sizes, MPICH, Gloo and the limits of the machine](#speed); [how it was measured, and where the",
            "time goes](docs/performance.md)."]


def readme_table(results):
    sizes = [8, 512, 8192, 131072, 524288, 2097152, 8388608, 33554432, 134217728]
    out = ["| weft's time divided by that of | " + " | ".join(plots.bytes_text(size) for size in sizes) + " |",
           "|---|" + "---|" * len(sizes)]
    for transport, word in (("shm", "shared memory"), ("tcp", "TCP")):
        series = results["series"].get(f"all_reduce/{transport}/2")
        for other in OTHERS if series else ():
            found = ratios_of(series, "weft", other)
            if found:
                name = "the limit" if other == "limit" else TITLES[other]
                out.append(f"| {name}, {word} | " + " | ".join(number(found.get(size)) for size in sizes) + " |")
    return out


def distance_table(results, transport):
    """For docs/performance.md: each size with its limit, and how far off weft and the others are."""
    series = results["series"].get(f"all_reduce/{transport}/2")
    if not series or not times_of(series, "limit"):
        return ["Not measured yet."]
    others = [side for side in present(series) if not side.startswith("limit")]
    limit, window = times_of(series, "limit"), times_of(series, "limit-window")
    own = "limit, windows" if window else "limit"
    heads = ["size", "limit, µs", *(["limit, windows, µs"] if window else []),
             *[f"{TITLES[side]} / {own if side == 'weft-window' else 'limit'}" for side in others]]
    out = ["| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    for size in sorted(limit):
        cells = [number(limit[size]), *([number(window.get(size))] if window else []),
                 *[number(distance_of(series, side).get(size)) for side in others]]
        out.append(f"| {plots.bytes_text(size)} | " + " | ".join(cells) + " |")
    return [*out, "", f"{series['date']}, {series['rounds']} rounds. {results['machine']}"]


def instructions_table():
    """The reference of bench/instructions, one table for each key."""
    out, last = [], None
    with open(os.path.join(ROOT, "bench", "instructions.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if line.startswith("#") or len(words) != 3:
                continue
            if words[0] != last:
                out += ["", words[0] + ":", "", "| call | instructions of both ranks |", "|---|---:|"]
                last = words[0]
            out.append(f"| {words[1]} | {int(words[2]):,} |")
    return out[1:]


def put_between(path, mark, lines):
    """Replaces what stands between two comments of a page."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->"
    if begin not in text or end not in text:
        raise SystemExit(f"{path}: no place for {mark}")
    block = begin + "\n".join(lines) + "\n" + end
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, text, flags=re.S))


def limit_panels(results):
    """Distance to the limit over size: one line per number of ranks."""
    panels = []
    for transport, word in (("shm", "shared memory"), ("tcp", "TCP")):
        lines = []
        for i, ranks in enumerate((2, 4, 8)):
            series = results["series"].get(f"all_reduce/{transport}/{ranks}")
            if series:
                colour = ("#1756a9", "#c85a00", "#2c7a3f")[i]
                lines.append((colour, f"{ranks} ranks", ratios_of(series, "weft", "limit")))
                lines.append((("#3aa0d8", "#e79a55", "#7fbf8e")[i], f"{ranks}, windows",
                              distance_of(series, "weft-window")))
        panels.append(plots.Panel(f"all_reduce over {word}", "weft's time / limit", lines, plots.ratio_text, mark=1))
    return panels


def collective_panels(results, transport):
    """Distance of every collective to the limit, and to Open MPI."""
    colours = ["#1756a9", "#c85a00", "#2c7a3f", "#8440a8", "#b3202c", "#7a5c00", "#0d8a8a", "#d052a0"]
    panels = []
    for other, title in (("limit", "the limit"), ("openmpi", "Open MPI")):
        lines = []
        for colour, coll in zip(colours, sides.COLLECTIVES):
            series = results["series"].get(f"{coll}/{transport}/2")
            if series:
                lines.append((colour, coll, ratios_of(series, "weft", other)))
        panels.append(plots.Panel(f"weft's time / {title}", "2 ranks, below 1 weft is faster", lines, plots.ratio_text,
                                  mark=1))
    return panels


def p2p_panels(results, transport):
    return [time_panel(key, results["series"][key]) for key in (f"ping_pong/{transport}/2", f"stream/{transport}/2")
            if key in results["series"]]


def collectives_measured(results, transport):
    """Whether there is more than the all-reduce."""
    keys = [key for key in results["series"] if key.endswith(f"/{transport}/2")]
    return any(key.split("/")[0] not in ("all_reduce", *sides.PAIRS) for key in keys)


def write_figures(results):
    """The graphs of docs/performance.md, one for each finding."""
    at = lambda name: os.path.join(FIGURES, f"performance-{name}.svg")
    if "all_reduce/shm/2" in results["series"]:
        key = "all_reduce/shm/2"
        plots.picture(at("sizes"), "", [time_panel(key, results["series"][key]), ratio_panel(key, results["series"][key])])
    if "all_reduce/tcp/2" in results["series"]:
        key = "all_reduce/tcp/2"
        plots.picture(at("tcp"), "", [time_panel(key, results["series"][key]), ratio_panel(key, results["series"][key])])
    panels = [panel for panel in limit_panels(results) if panel.lines]
    if panels:
        plots.picture(at("limit"), "", panels, columns=len(panels))
    for transport in ("shm", "tcp"):
        panels = [panel for panel in collective_panels(results, transport) if panel.lines]
        if panels and collectives_measured(results, transport):
            plots.picture(at(f"collectives-{transport}"), "", panels, height=360)
        panels = p2p_panels(results, transport)
        if panels:
            plots.picture(at(f"p2p-{transport}"), "", panels, columns=len(panels))


def write_scale(results):
    """Joining, the first call and memory over the number of ranks."""
    scale = results.get("scale", {})
    if not scale:
        return
    lines = {"join_s": [], "first_s": [], "memory_first_mib": []}
    for how, colour, word in (("-P", "#1756a9", "processes"), ("-t", "#c85a00", "threads")):
        for what, of in lines.items():
            points = {int(ranks): found[what] for ranks, found in scale.get(how, {}).items() if what in found}
            of.append((colour, word, points))
    seconds = lambda value: plots.time_text(round(value * 1e6, 3))
    common = {"x_text": plots.number_text, "x_title": "ranks"}
    plots.picture(os.path.join(FIGURES, "performance-ranks.svg"), "", [
        plots.Panel("Joining", "until the last rank has joined", lines["join_s"], seconds, **common),
        plots.Panel("First all-reduce of 8 bytes", "slowest rank", lines["first_s"], seconds, **common),
        plots.Panel("Memory after it", "MiB per rank, shared pages counted once", lines["memory_first_mib"],
                    plots.number_text, y_log=False, **common)], columns=3, width=400)


def write_all(results):
    os.makedirs(RESULTS, exist_ok=True)
    write_tables(results)
    write_plots(results)
    write_overview(results)
    write_figures(results)
    write_scale(results)
    put_between(os.path.join(ROOT, "README.md"), "compare", readme_table(results))
    put_between(os.path.join(ROOT, "README.md"), "in-short", readme_words(results))
    page = os.path.join(ROOT, "docs", "performance.md")
    for transport in ("shm", "tcp"):
        put_between(page, f"distance-{transport}", distance_table(results, transport))
    for name, words in GRAPHS.items():
        there = os.path.exists(os.path.join(FIGURES, f"performance-{name}.svg"))
        put_between(page, f"graph-{name}", [f"![{words}](figures/performance-{name}.svg)" if there else "Not measured yet."])
    put_between(page, "instructions", instructions_table())
    put_between(page, "bars", missed_bars(results))
