# SPDX-License-Identifier: BSD-3-Clause
"""Bars of whole jobs, which tests/scale/scale_job starts: beside strangers, on several hosts, with a death in the join."""
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import sides
from measurement import Missing

HOSTS = os.path.join(sides.ROOT, "tests", "scale", "hosts.sh")
SETTINGS = [f"core.plugin_dir={sides.RELEASE}/lib/weft"]
MOMENTS = [2 * i for i in range(40)]  # milliseconds after the start of the processes
MOMENTS_FOLDER = list(range(20))
LAST_WORD = 15  # seconds after which a rank that has not noticed a death is ended


def scale_job(*words, settings=("core.net=net-shm",), timeout=120):
    """(what the job printed, its exit code)"""
    command = [os.path.join(sides.RELEASE, "bin", "scale_job"), *words, *SETTINGS, *settings]
    done = sides.run(command, timeout=timeout)
    try:
        return json.loads(sides.last_line(done.stdout)), done.returncode
    except ValueError as error:
        raise Missing(f"scale_job {' '.join(words)}: {sides.last_line(done.stderr)}") from error


def files_of_weft(rendezvous):
    """What a job could have left: in the folder where ranks meet, and in those that weft takes by itself."""
    folders = ["/tmp", "/dev/shm", os.environ.get("XDG_RUNTIME_DIR", "/tmp")]
    found = {os.path.join(folder, name) for folder in folders if os.path.isdir(folder)
             for name in os.listdir(folder) if "weft" in name}
    for at, _, names in os.walk(rendezvous):
        found |= {os.path.join(at, name) for name in names}
    return found - {rendezvous}


def start_in_folder(ranks, rendezvous, number):
    """Ranks that know of each other what a launcher says, and meet in a folder."""
    env = {**os.environ, "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "TORCHELASTIC_RUN_ID": f"bar{number}"}
    command = [os.path.join(sides.BUILD, "probe"), "start", "-l", str(ranks), "core.net=net-shm",
               f"boot.rendezvous={rendezvous}", "boot.init_timeout=5"]
    return [subprocess.Popen(command, env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for rank in range(ranks)]


def wait_until(processes, end):
    """Waits for all to end, and ends what is left then. How many had to be ended."""
    while time.monotonic() < end and any(process.poll() is None for process in processes):
        time.sleep(0.001)
    late = [process for process in processes if process.poll() is None]
    for process in late:
        process.kill()
        process.wait()
    return len(late)


class Jobs:
    """A part of Meter, which has keep() and starts_wanted."""

    def strangers(self, ranks, rate):
        """Jobs beside strangers and alone, in turns: how many joined, and the median of each one's time."""
        times, joined = {"alone": [], "beside": []}, 0
        for turn in range(self.starts_wanted):
            for side in ("alone", "beside") if turn % 2 == 0 else ("beside", "alone"):
                found, code = scale_job("-n", ranks, *(["-s", rate] if side == "beside" else []))
                joined += side == "beside" and code == 0
                if code == 0:
                    times[side].append(found["init"])
        if not times["alone"] or not times["beside"]:
            raise Missing("no start joined")
        return joined / self.starts_wanted, {side: statistics.median(values) for side, values in times.items()}

    def bar_strangers(self, ranks, rate, what):
        joined, medians = self.keep(("strangers", ranks), lambda: self.strangers(ranks, rate))
        detail = f"init {medians['alone']:.2f} s alone, {medians['beside']:.2f} s with {rate} strangers a second"
        return (joined if what == "joined" else medians["beside"] / medians["alone"]), detail

    def hosts(self, ranks, hosts):
        """One job on network namespaces that stand for hosts; one rank is killed in the end."""
        if os.geteuid() != 0:
            raise Missing("network namespaces need root")
        shell, prefix = f". {HOSTS}; ", "weftbar"
        try:
            if sides.run(["bash", "-c", f"{shell}hosts_up {prefix} {hosts}"]).returncode != 0:
                raise Missing("the network namespaces could not be made")
            return scale_job("-n", ranks, "-H", hosts, "-N", prefix, "-k", str(int(ranks) // 3),
                             settings=["core.net=net-shm net-socket"])[0]
        finally:
            sides.run(["bash", "-c", f"{shell}hosts_down {prefix} {hosts}"])

    def bar_hosts(self, ranks, hosts, what):
        found = self.keep(("hosts", ranks, hosts), lambda: self.hosts(ranks, hosts))
        if what not in found:
            raise Missing(f"the job did not come so far: {found}")
        return float(found[what]), ""

    def bar_death(self, ranks, what):
        """One rank is killed ever later, and its starter reports that: it may die before its first message."""
        late, joining = 0.0, 0
        for moment in MOMENTS:
            found, _ = scale_job("-n", ranks, "-k", str(int(ranks) // 3), "-d", str(moment),
                                 settings=("core.net=net-shm", "boot.init_timeout=5"))
            joining += found["joining"]
            late = max(late, found[what])
        if joining == 0:
            raise Missing("the rank was never joining when it was killed")
        return late, f"worst of {len(MOMENTS)} moments, {joining} of them after the call of init"

    def folder(self, ranks):
        """Jobs whose ranks meet in a folder; each in turn is killed ever later. The survivors end when they know."""
        rendezvous = tempfile.mkdtemp(prefix="weftbar")
        found = {"late": 0.0, "left": 0.0, "killed": 0, "unended": 0, "worst": ""}
        before = files_of_weft(rendezvous)
        try:
            for number, moment in enumerate(MOMENTS_FOLDER):
                processes = start_in_folder(ranks, rendezvous, number)
                victim = processes[number % ranks]
                time.sleep(moment / 1e3)
                found["killed"] += victim.poll() is None
                victim.kill()
                victim.wait()
                begin = time.monotonic()
                found["unended"] += wait_until(processes, begin + LAST_WORD)
                took = time.monotonic() - begin
                if took > found["late"]:
                    found.update(late=took, worst=f"rank {number % ranks} after {moment} ms")
            left = files_of_weft(rendezvous) - before
            names = sorted(path.removeprefix(rendezvous + os.sep) for path in left)
            found.update(left=float(len(left)), names=", ".join(names)[:200])
        finally:
            shutil.rmtree(rendezvous, ignore_errors=True)
        if found["killed"] == 0:
            raise Missing("every job was over when its rank was to be killed")
        return found

    def bar_folder(self, ranks, what):
        found = self.keep(("folder", ranks), lambda: self.folder(int(ranks)))
        detail = f"{found['killed']} of {len(MOMENTS_FOLDER)} killed in the job"
        return found[what], f"{detail}; worst: {found['worst']}" if what == "late" else f"{detail}; {found['names'] or 'nothing'}"

    def bar_right(self, ranks, hosts):
        """All collectives of weft perf on network namespaces that stand for hosts: sizes with wrong results."""
        if os.geteuid() != 0:
            raise Missing("network namespaces need root")
        shell, prefix = f". {HOSTS}; ", "weftbar"
        job = [os.path.join(sides.RELEASE, "bin", "scale_job"), "-n", ranks, "-H", hosts, "-N", prefix, "--"]
        perf = [os.path.join(sides.RELEASE, "bin", "weft"), "perf", "all", "-b", "4K", "-e", "4K", "-n", "1", "-w", "0"]
        try:
            if sides.run(["bash", "-c", f"{shell}hosts_up {prefix} {hosts}"]).returncode != 0:
                raise Missing("the network namespaces could not be made")
            # Cores that stand for all hosts do in minutes what those would do in seconds.
            done = sides.run([*job, *perf, "--set", "core.net=net-shm net-socket"], timeout=400)
        finally:
            sides.run(["bash", "-c", f"{shell}hosts_down {prefix} {hosts}"])
        wrong = re.search(r"^# Out of bounds values : (\d+)", done.stdout, re.M)
        if done.returncode != 0 or not wrong:
            raise Missing(f"weft perf on {ranks} ranks: {sides.last_line(done.stderr or done.stdout)}")
        return float(wrong.group(1)), f"{len(re.findall('SKIPPED', done.stdout))} collectives skipped"

    def bar_simulated(self, ranks):
        """Seconds of virtual time until the last rank has joined and has all addresses: the real code, 20 us a hop."""
        done = sides.run([os.path.join(sides.RELEASE, "bin", "simulate_join"), ranks])
        rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith(f"| {ranks} |")]
        if done.returncode != 0 or not rows:
            raise Missing(f"simulate_join {ranks}: {sides.last_line(done.stderr or done.stdout)}")
        return float(rows[0][3]) / 1e3, f"{rows[0][7].strip()} bytes of the root for a rank"

    def bar_instructions(self):
        """Percent by which the worst call has become more expensive than bench/instructions.txt says."""
        done = sides.run([os.path.join(sides.ROOT, "bench", "instructions"), sides.RELEASE], timeout=300)
        rows = re.findall(r"^(?:ok|FAILED) +(\S+) +(\d+) reference +\d+ +([+-][\d.]+) %", done.stdout, re.M)
        if not rows:
            raise Missing(sides.last_line(done.stdout + done.stderr))
        name, count, more = max(rows, key=lambda row: float(row[2]))
        return float(more), f"worst of {len(rows)}: {name}, {count} instructions"
