# SPDX-License-Identifier: BSD-3-Clause
"""The libraries beside each other: building their programs, starting them, reading what they print."""
import os
import shutil
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = os.path.join(ROOT, "bench", "beside")
BUILD = os.path.join(ROOT, "build", "bench")
RELEASE = os.path.join(ROOT, "build", "release")

KIB = 1024
MIB = 1024 * 1024
COLLECTIVES = ["all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "gather",
               "scatter", "barrier", "ping_pong", "stream"]
PAIRS = ("ping_pong", "stream")  # only ranks 0 and 1 take part
SIDES = ["weft", "weft-window", "openmpi", "mpich", "gloo", "exchange", "limit", "limit-window"]
TITLES = {"weft": "weft", "weft-window": "weft, windows", "openmpi": "Open MPI", "mpich": "MPICH", "gloo": "Gloo",
          "exchange": "bare exchange", "limit": "limit", "limit-window": "limit, windows"}
LIMIT_OF = {"weft": "limit", "weft-window": "limit-window"}

skipped = {}  # side: why it is left out


def say(text):
    print(text, flush=True)


def run(command, timeout=120, env=None, check=False):
    """The completed process; one that takes too long counts as failed, with everything it started."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **(env or {})}, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        return subprocess.CompletedProcess(command, 124, out, f"{err}\nended after {timeout} s")
    if check and process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}\n{err or out}")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def compile_one(name, compiler, sources, flags=()):
    """Builds build/bench/NAME if it is older than its sources. True: it is there."""
    target = os.path.join(BUILD, name)
    paths = [os.path.join(SOURCES, source) for source in sources]
    newest = max(os.path.getmtime(p) for p in paths + [os.path.join(SOURCES, "beside.h")])
    if os.path.exists(target) and os.path.getmtime(target) >= newest:
        return True
    if not shutil.which(compiler):
        return False
    done = run([compiler, "-O2", "-D_GNU_SOURCE", f"-I{ROOT}/api", "-o", target, *paths, *flags])
    if done.returncode != 0:
        say(f"SKIPPED {name}: it does not compile: {last_line(done.stderr)}")
        return False
    return True


def look():
    """Takes the programs that are there: weft's are needed, the others are left out, and that is said."""
    for program in ("weft_side", "probe", "memory_limit", "memory_exchange", "tcp_limit"):
        if not os.path.exists(os.path.join(BUILD, program)):
            raise SystemExit(f"build/bench/{program} is not there; bench/compare without --no-build builds it")
    for side, program in (("openmpi", "mpi_openmpi"), ("mpich", "mpi_mpich"), ("gloo", "gloo_side")):
        if not os.path.exists(os.path.join(BUILD, program)):
            skipped[side] = f"build/bench/{program} is not there"
            say(f"SKIPPED {TITLES[side]}: {skipped[side]}")


def build():
    """weft in release, and a program for each side. What cannot be built is left out, and said so."""
    os.makedirs(BUILD, exist_ok=True)
    script = ". scripts/lib.sh; install_packages; (install_packages bench/beside/packages.txt) || true; build release"
    if subprocess.run(["bash", "-c", f"set -eu; {script}"], cwd=ROOT, check=False).returncode != 0:
        raise SystemExit("weft was not built")
    weft = (f"-L{RELEASE}/lib", "-lweft", f"-Wl,-rpath,{RELEASE}/lib", "-pthread")
    must = [("weft_side", ["weft_side.c", "beside.c"], ("-std=c11", *weft)), ("probe", ["probe.c"], ("-std=c11", *weft)),
            ("tcp_limit", ["tcp_limit.c", "beside.c"], ("-std=c11",)),
            ("memory_limit", ["memory_limit.c"], ("-std=c11", "-O3", "-march=native", "-pthread")),
            ("memory_exchange", ["memory_exchange.c"], ("-std=c11", "-O3", "-march=native", "-pthread"))]
    for name, sources, flags in must:
        if not compile_one(name, "gcc", sources, flags):
            raise SystemExit(f"bench/beside: {name} was not built")
    may = [("openmpi", "mpicc.openmpi", "mpirun.openmpi", "openmpi-bin, libopenmpi-dev"),
           ("mpich", "mpicc.mpich", "mpiexec.mpich", "mpich, libmpich-dev")]
    for side, compiler, launcher, packages in may:
        if not shutil.which(launcher) or not compile_one(f"mpi_{side}", compiler, ["mpi_side.c", "beside.c"], ("-std=c11",)):
            skipped[side] = f"no {compiler} or {launcher} (packages {packages})"
    flags = ("-std=c++17", os.path.join(BUILD, "beside.o"), "-lgloo", "-pthread")
    run(["gcc", "-std=c11", "-O2", "-D_GNU_SOURCE", "-c", os.path.join(SOURCES, "beside.c"), "-o",
         os.path.join(BUILD, "beside.o")], check=True)
    if not os.path.exists("/usr/include/gloo/allreduce.h") or not compile_one("gloo_side", "g++", ["gloo_side.cc"], flags):
        skipped["gloo"] = "no Gloo (package libgloo-dev)"
    for side, why in skipped.items():
        say(f"SKIPPED {TITLES[side]}: {why}")


def sides_of(coll, transport, ranks, window=False):
    """The sides that have this collective on this transport."""
    names = ["weft", "openmpi", "mpich", "limit"]
    if transport == "tcp" and coll != "reduce_scatter":
        names.insert(3, "gloo")
    if window and transport == "shm" and coll not in ("barrier", *PAIRS):
        names = ["weft", "weft-window", *names[1:], "limit-window"]
    if (coll, transport, ranks) == ("all_reduce", "shm", 2) and os.cpu_count() >= 2:
        names.insert(names.index("limit"), "exchange")
    return [name for name in names if name not in skipped]


def most_iterations(size):
    return 20000 if size <= 64 * KIB else 1000 if size <= 2 * MIB else 60


def span_of(ranks, sizes):
    """Buffers move on inside this many bytes on each rank: together past the last cache."""
    return max(128 * MIB // max(ranks, 2), 8 * MIB, max(sizes))


def command_of(side, coll, transport, ranks, sizes, seconds):
    """(command, environment) of one side but the memory limit."""
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    what = ["-n", str(ranks), "-c", coll, "-s", str(span_of(ranks, sizes)), "-b", str(seconds)]
    what += [f"{size}:{most_iterations(size)}" for size in sizes]
    program = lambda name: os.path.join(BUILD, name)
    if side in ("weft", "weft-window"):
        net = "net-shm" if transport == "shm" else "net-socket"
        window = ["-w"] if side == "weft-window" else []
        return [program("weft_side"), *window, *what, "--", f"core.net={net}"], env
    if side == "exchange":
        return [program("memory_exchange"), str(span_of(ranks, sizes)), str(seconds), *map(str, sizes)], env
    if side == "openmpi":
        btl = "vader,self" if transport == "shm" else "tcp,self"
        launch = ["mpirun.openmpi", "--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", btl]
        return [*launch, "-n", str(ranks), program("mpi_openmpi"), *what], env
    if side == "mpich":
        if transport == "tcp":
            env.update({"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"})
        return ["mpiexec.mpich", "-n", str(ranks), program("mpi_mpich"), *what], env
    return [program("gloo_side" if side == "gloo" else "tcp_limit"), *what], env


def read_times(text):
    """{size: mean over the ranks of their medians}, from lines "rank size microseconds"."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3:
            try:
                found.setdefault(int(words[1]), []).append(float(words[2]))
            except ValueError:
                continue
    return {size: statistics.fmean(times) for size, times in found.items()}


def measure(side, coll, transport, ranks, sizes, seconds):
    """({size: microseconds}, why some are missing or None)."""
    if side == "limit-window" or (side == "limit" and transport == "shm"):
        return memory_limit(coll, ranks, sizes, seconds, side == "limit-window")
    command, env = command_of(side, coll, transport, ranks, sizes, seconds)
    done = run(command, timeout=15 + 12 * seconds * len(sizes), env=env)
    return read_times(done.stdout), None if done.returncode == 0 else last_line(done.stderr)


def memory_shape(coll, ranks):
    """(inputs, outputs, divisor): each thread reads inputs and writes outputs, each of size/divisor bytes."""
    n = ranks
    return {"all_reduce": (n, n, n), "all_to_all": (1, 1, 1), "broadcast": (1, n - 1, n), "reduce": (n, 1, n),
            "all_gather": (1, n, n), "reduce_scatter": (n, 1, n), "gather": (1, 1, n), "scatter": (1, 1, n),
            "ping_pong": (1, 1, 1), "stream": (1, 1, 1)}.get(coll)


def cache_line():
    """Half a round trip of one cache line between two cores, in microseconds; virtual cores move apart and together."""
    return read_times(run([os.path.join(BUILD, "memory_limit"), "line"]).stdout).get(0, 0.0)


def memory_limit(coll, ranks, sizes, seconds, window):
    """Each input read once, each output written once, by as many threads, in memory of the same kind as the side's
    that is compared; never below one cache line's way."""
    shape = memory_shape(coll, ranks)
    line = cache_line()
    if coll == "barrier":
        return {size: line for size in sizes}, None
    inputs, outputs, divisor = shape
    threads = 1 if coll in PAIRS else ranks  # a message is one copy by one rank
    if max(inputs, outputs) > 16:
        return {}, "the memory limit is measured for up to 16 ranks"
    parts = {size: max(size // divisor, 4) for size in sizes}
    span = max(span_of(threads, sizes) // max(inputs, outputs), max(parts.values()))
    command = [os.path.join(BUILD, "memory_limit"), *(["huge"] if window else []), str(threads), str(inputs), str(outputs), str(span), str(seconds)]
    done = run([*command, *[str(part) for part in parts.values()]], timeout=15 + 6 * seconds * len(sizes))
    by_part = read_times(done.stdout)
    times = {size: max(by_part[part], line) for size, part in parts.items() if part in by_part}
    return times, None if done.returncode == 0 else last_line(done.stderr)
