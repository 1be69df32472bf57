# SPDX-License-Identifier: BSD-3-Clause
"""The bars of bars.txt: each measured, and compared with its limit.

A measurement returns (value, detail). Where a bar speaks of several sizes the value is the worst. A ratio is
weft's time divided by the other's: the median over rounds in turns. A feature that is not there, or a start that
failed, is a value of None with the reason, and counts as missed."""
import json
import operator
import os
import re
import shutil
import statistics
import time

import sides
from jobs import Jobs
from measurement import Missing
from sides import BUILD, KIB, MIB

BARS = os.path.join(sides.SOURCES, "bars.txt")
OPERATORS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}
SHM = "core.net=net-shm"
SECTIONS = {**dict.fromkeys(("join-", "init-", "right-", "kill-"), "joins-and-deaths"),
            **dict.fromkeys(("first-", "warnings-", "memory-", "descriptors-", "steady-"), "finding-6-what-a-rank-costs"),
            **dict.fromkeys(("window-", "plain-"), "many-ranks-on-few-cores"),
            **dict.fromkeys(("stream-", "ping-pong-"), "two-speeds"),
            **dict.fromkeys(("tcp-", "veth-"), "tcp-below-4-mib"),
            **dict.fromkeys(("overlap", "idle-", "late-"), "overlap-and-idling"),
            "largest-": "the-largest-process", "small-": "small-messages-beside-open-mpi",
            "thousand-": "a-loop-of-many-sizes", "instructions": "instructions-of-a-call"}


def read_bars():
    bars = []
    with open(BARS, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, op, limit, unit, *measurement = line.split()
                bars.append({"name": name, "op": op, "limit": float(limit), "unit": unit, "measurement": measurement})
    return bars


def section_of(name):
    """The part of docs/performance.md that says where the time of a bar goes, and what would close its gap."""
    found = [section for prefix, section in SECTIONS.items() if name.startswith(prefix)]
    return f"docs/performance.md#{found[0]}" if found else ""


def bytes_of(text):
    return int(text[:-1]) * (KIB if text[-1] == "K" else MIB) if text[-1] in "KM" else int(text)


def text_of(size):
    return f"{size // MIB} MiB" if size % MIB == 0 else f"{size // KIB} KiB" if size % KIB == 0 else f"{size} B"


class Meter(Jobs):
    """Measures bars; what several of them ask for is measured once."""

    def __init__(self, rounds, seconds, starts):
        self.rounds, self.seconds, self.starts_wanted = rounds, seconds, starts
        self.kept = {}

    def measure(self, bar):
        kind, *words = bar["measurement"]
        return getattr(self, f"bar_{kind}")(*words)

    def keep(self, key, measure):
        if key not in self.kept:
            try:
                self.kept[key] = measure()
            except Missing as missing:
                self.kept[key] = missing
        if isinstance(self.kept[key], Missing):
            raise self.kept[key]
        return self.kept[key]

    # Starting

    def probe(self, *words, timeout=120, launcher=()):
        """Values that bench/beside/probe prints, and how many lines it wrote on stderr."""
        done = sides.run([*launcher, os.path.join(BUILD, "probe"), *words, SHM], timeout=timeout)
        found = dict(re.findall(r"^(\w+) (-?[\d.]+)$", done.stdout, re.M))
        found = {name: float(value) for name, value in found.items()}
        found["warnings"] = float(len([line for line in done.stderr.splitlines() if line.strip()]))
        if done.returncode != 0:
            raise Missing(f"probe {' '.join(words)}: {sides.last_line(done.stderr)}")
        return found

    def starts(self, how, ranks):
        launcher = ["mpiexec.mpich", "-n", ranks] if how == "mpiexec" else []
        if launcher and not shutil.which(launcher[0]):
            raise Missing("no mpiexec.mpich (package mpich)")
        times, why = [], ""
        for _ in range(self.starts_wanted):
            try:
                found = self.probe("start", "-l" if launcher else how, ranks, timeout=60, launcher=launcher)
                times.append(found["join_s"])
            except Missing as missing:
                why = str(missing)
        return times, why

    def bar_starts(self, how, ranks, what):
        times, why = self.keep(("starts", how, ranks), lambda: self.starts(how, ranks))
        detail = f"{len(times)} of {self.starts_wanted} starts joined{'; ' + why if why else ''}"
        if what == "joined":
            return len(times) / self.starts_wanted, detail
        if len(times) < self.starts_wanted:
            raise Missing(detail)
        return max(times), detail

    def start(self, how, ranks, more):
        """Three starts: the median of each value. One is enough for what does not depend on time."""
        runs = [self.probe("start", how, ranks, *more, timeout=60) for _ in range(1 if more else 3)]
        return {name: statistics.median(r.get(name, 0) for r in runs) for name in runs[0]}

    def bar_start(self, how, ranks, what):
        more = ("-a",) if "_all_" in what else ()
        found = self.keep(("start", how, ranks, more), lambda: self.start(how, ranks, more))
        rss = f"resident set {found.get(what.replace('memory', 'rss'), 0):.1f} MiB" if what.startswith("memory") else ""
        return found[what], rss

    def bar_growth(self, what, few, many):
        a, _ = self.bar_start("-P", few, what)
        b, _ = self.bar_start("-P", many, what)
        return b - a, f"{a:.0f} at {few} ranks, {b:.0f} at {many}"

    def bar_nofile(self, ranks, limit):
        """Joins, or says within this time that the limit is too low."""
        begin = time.monotonic()
        try:
            self.probe("start", "-P", ranks, timeout=30, launcher=["prlimit", f"--nofile={limit}"])
            return time.monotonic() - begin, f"{ranks} ranks joined"
        except Missing as missing:
            text = str(missing)
            if not re.search("NOFILE|descriptor|open files|ulimit", text):
                raise Missing(f"neither joined nor named: {text}") from missing
            return time.monotonic() - begin, f"named: {text}"

    def bar_kill(self, ranks, what):
        return self.keep(("kill", ranks), lambda: self.probe("kill", "-P", ranks, timeout=60))[what], ""

    def bar_probe(self, name, how, ranks, what):
        found = self.keep(("probe", name, how, ranks), lambda: self.probe(name, how, ranks))
        rest = ", ".join(f"{key} {value:g}" for key, value in found.items() if key not in (what, "warnings"))
        return found[what], rest

    # Ratios

    def rounds_of(self, mine, other, coll, transport, ranks, sizes):
        """Per size the ratio of each round; who begins changes from round to round."""
        ratios = {size: [] for size in sizes}
        for turn in range(self.rounds):
            times = {}
            for side in (mine, other) if turn % 2 == 0 else (other, mine):
                times[side], why = sides.measure(side, coll, transport, ranks, sizes, self.seconds)
                if why:
                    raise Missing(f"{sides.TITLES[side]}: {why}")
            for size in sizes:
                ratios[size].append(times[mine][size] / times[other][size])
        return {size: statistics.median(values) for size, values in ratios.items()}

    def bar_ratio(self, coll, transport, ranks, sizes, other, mine="weft"):
        if other in sides.skipped:
            raise Missing(sides.skipped[other])
        wanted = [bytes_of(word) for word in sizes.split(",")]
        found = self.rounds_of(mine, other, coll, transport, int(ranks), wanted)
        worst = max(found, key=found.get)
        detail = ", ".join(f"{text_of(size)} {ratio:.2f}" for size, ratio in found.items()) if len(found) > 1 else ""
        return found[worst], detail

    # The line

    def iperf_run(self, launcher_server=(), launcher_client=(), at="127.0.0.1"):
        """Gigabits per second of one stream, as the receiver counts them."""
        if not shutil.which("iperf3"):
            raise Missing("no iperf3 (package iperf3)")
        server = sides.subprocess.Popen([*launcher_server, "iperf3", "-s", "-1", "-p", "5911", "-B", at],
                                        stdout=sides.subprocess.DEVNULL, stderr=sides.subprocess.DEVNULL)
        try:
            time.sleep(0.3)
            done = sides.run([*launcher_client, "iperf3", "-c", at, "-p", "5911", "-t", "2", "-J"], timeout=20)
            return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e9
        except (ValueError, KeyError) as error:
            raise Missing(f"iperf3: {sides.last_line(done.stderr or done.stdout)}") from error
        finally:
            server.kill()
            server.wait()

    def bar_iperf(self, size):
        """Bandwidth of a stream of messages over TCP, as a part of iperf3's."""
        parts, bytes_each = [], bytes_of(size)
        for _ in range(min(self.rounds, 3)):
            line = self.iperf_run()
            times, why = sides.measure("weft", "stream", "tcp", 2, [bytes_each], self.seconds * 4)
            if why:
                raise Missing(why)
            parts.append((bytes_each * 8 / times[bytes_each] / 1e3 / line, line))
        part, line = statistics.median_low(parts)
        return part, f"iperf3 {line:.1f} Gbit/s"

    def bar_veth(self, rate):
        """Bus bandwidth of an all-reduce of two ranks over a line of this rate, as a part of what iperf3 gets."""
        if os.geteuid() != 0:
            raise Missing("network namespaces need root")
        names = ["weftcmp0", "weftcmp1"]
        try:
            self.veth_make(names, rate)
            return self.veth_measure(names)
        finally:
            for name in names:
                sides.run(["ip", "netns", "del", name])

    @staticmethod
    def veth_make(names, rate):
        commands = [["ip", "netns", "add", name] for name in names]
        commands.append(["ip", "link", "add", "veth0", "netns", names[0], "type", "veth", "peer", "name", "veth1",
                         "netns", names[1]])
        for i, name in enumerate(names):
            inside = ["ip", "-n", name]
            commands += [[*inside, "addr", "add", f"10.199.0.{i + 1}/24", "dev", f"veth{i}"],
                         [*inside, "link", "set", f"veth{i}", "up"], [*inside, "link", "set", "lo", "up"],
                         ["tc", "-n", name, "qdisc", "add", "dev", f"veth{i}", "root", "tbf", "rate", rate, "burst",
                          "256k", "latency", "20ms"]]
        for command in commands:
            done = sides.run(command)
            if done.returncode != 0:
                raise Missing(f"{' '.join(command)}: {sides.last_line(done.stderr)}")

    def veth_measure(self, names):
        inside = [["ip", "netns", "exec", name] for name in names]
        line = self.iperf_run(inside[0], inside[1], "10.199.0.1")
        size, count = 8 * MIB, 12
        folder = sides.run(["mktemp", "-d"], check=True).stdout.strip()
        ranks = []
        for rank in (0, 1):
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                   "TORCHELASTIC_RUN_ID": "compare", "MASTER_ADDR": "10.199.0.1", "MASTER_PORT": "29511"}
            command = [*inside[rank], os.path.join(BUILD, "weft_side"), "-l", "-n", "2", "-c", "all_reduce", "-s",
                       str(64 * MIB), "-b", "1", f"{size}:{count}", "--", "core.net=net-socket",
                       f"boot.rendezvous={folder}"]
            ranks.append(sides.subprocess.Popen(command, env=env, text=True, stdout=sides.subprocess.PIPE,
                                                stderr=sides.subprocess.PIPE))
        try:
            outputs = [process.communicate(timeout=60) for process in ranks]
        except sides.subprocess.TimeoutExpired as late:
            raise Missing("weft over veth did not end within 60 s") from late
        finally:
            for process in ranks:
                process.kill()
                process.wait()
            shutil.rmtree(folder, ignore_errors=True)
        times = sides.read_times(outputs[0][0] + outputs[1][0])
        if size not in times:
            raise Missing(f"weft over veth: {sides.last_line(outputs[0][1] or outputs[1][1])}")
        # Two ranks: each sends as many bytes as the buffer has, and receives as many.
        mine = size * 8 / times[size] / 1e3
        return mine / line, f"weft {mine:.2f}, iperf3 {line:.2f} Gbit/s each way"


def judge(bar, value):
    """(passed, in words)."""
    if value is None:
        return False, "MISSED"
    if OPERATORS[bar["op"]](value, bar["limit"]):
        return True, "pass"
    if bar["limit"] == 0:
        return False, f"MISSED by {value:g}"
    if bar["op"] == ">=":
        return False, f"MISSED: {100 * (1 - value / bar['limit']):.0f} % below"
    return False, f"MISSED: {100 * (value / bar['limit'] - 1):.0f} % above"
