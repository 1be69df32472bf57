# SPDX-License-Identifier: BSD-3-Clause
"""Bars of whole jobs, which tests/scale/scale_job starts: beside strangers, on several hosts, with a death in the join."""
import json
import os
import statistics

import sides
from measurement import Missing

HOSTS = os.path.join(sides.ROOT, "tests", "scale", "hosts.sh")
SETTINGS = [f"core.plugin_dir={sides.RELEASE}/lib/weft"]
MOMENTS = [2 * i for i in range(40)]  # milliseconds after the start of the processes


def scale_job(*words, settings=("core.net=net-shm",), timeout=120):
    """(what the job printed, its exit code)"""
    command = [os.path.join(sides.RELEASE, "bin", "scale_job"), *words, *SETTINGS, *settings]
    done = sides.run(command, timeout=timeout)
    try:
        return json.loads(sides.last_line(done.stdout)), done.returncode
    except ValueError as error:
        raise Missing(f"scale_job {' '.join(words)}: {sides.last_line(done.stderr)}") from error


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
        """One rank is killed ever later. What counts are the moments between its call of init and the end of the join."""
        late, counted = 0.0, 0
        for moment in MOMENTS:
            found, _ = scale_job("-n", ranks, "-k", str(int(ranks) // 3), "-d", str(moment),
                                 settings=("core.net=net-shm", "boot.init_timeout=5"))
            if found["joining"]:
                counted += 1
                late = max(late, found[what])
        if counted == 0:
            raise Missing("the rank was never joining when it was killed")
        return late, f"worst of {counted} moments after the call of init"
