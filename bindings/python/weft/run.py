# SPDX-License-Identifier: BSD-3-Clause
"""python -m weft.run -n 4 script.py: starts the ranks of a job on this host.

The ranks find each other by the variables of torchrun (RANK, WORLD_SIZE, …), so that scripts for
torchrun run as well. When a rank fails, the others are ended. The exit code is that of the rank
that failed first.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO, Mapping, Sequence

# Seconds after a failure in which the other ranks, which weft tells of it, may say so and end.
LAST_WORDS = 0.5
# Seconds from the request to end until a rank is killed.
GRACE = 2.0
# Variables of launchers that may have started this program: their ranks are not ours.
FOREIGN = ("OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "SLURM_", "HYDRA_", "TORCHELASTIC_", "GROUP_")


def free_port() -> int:
    """A port of this host that nobody uses at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def rank_environment(
    rank: int, nranks: int, job: str, port: int, given: Mapping[str, str]
) -> dict[str, str]:
    """The environment of a rank."""
    clean = {name: value for name, value in given.items() if not name.startswith(FOREIGN)}
    clean.update(
        RANK=str(rank),
        WORLD_SIZE=str(nranks),
        LOCAL_RANK=str(rank),
        LOCAL_WORLD_SIZE=str(nranks),
        TORCHELASTIC_RUN_ID=job,
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )
    return clean


class Job:
    """The ranks of a job as processes."""

    def __init__(self, command: Sequence[str], nranks: int, prefix: bool) -> None:
        self.code = 0
        self._end_at: float | None = None
        self._copiers: list[threading.Thread] = []
        self._ranks: list[subprocess.Popen[bytes]] = []
        job, port = f"weft-{secrets.token_hex(8)}", free_port()
        for rank in range(nranks):
            self._ranks.append(self._begin(command, rank, nranks, prefix, job, port))

    def _begin(
        self, command: Sequence[str], rank: int, nranks: int, prefix: bool, job: str, port: int
    ) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE if prefix else None
        try:
            process = subprocess.Popen(
                command,
                env=rank_environment(rank, nranks, job, port, os.environ),
                stdin=None if rank == 0 else subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                # Signals of the terminal come to this program, which passes them on.
                start_new_session=True,
            )
        except OSError as error:
            self.end()
            raise SystemExit(f"weft.run: cannot start {command[0]}: {error.strerror}") from None
        if prefix:
            self._copy(process.stdout, sys.stdout.buffer, rank)
            self._copy(process.stderr, sys.stderr.buffer, rank)
        return process

    def _copy(self, source: IO[bytes] | None, target: IO[bytes], rank: int) -> None:
        def run() -> None:
            for line in source or ():
                target.write(b"[%d] %s" % (rank, line if line.endswith(b"\n") else line + b"\n"))
                target.flush()

        copier = threading.Thread(target=run, daemon=True)
        copier.start()
        self._copiers.append(copier)

    def wait(self) -> int:
        """Waits for all ranks. When one fails the others are ended."""
        left = dict(enumerate(self._ranks))
        nap = 0.001
        while left:
            for rank, process in list(left.items()):
                if process.poll() is None:
                    continue
                del left[rank]
                if process.returncode != 0 and self.code == 0:
                    self._tell(rank, process.returncode)
                    self._end_at = time.monotonic() + LAST_WORDS
            if left and self._end_at is not None and time.monotonic() >= self._end_at:
                self.end()
            time.sleep(nap)
            nap = min(2 * nap, 0.05)
        for copier in self._copiers:
            copier.join(GRACE)
        return self.code

    def _tell(self, rank: int, code: int) -> None:
        self.code = code if code > 0 else 128 - code
        if code > 0:
            how = f"with code {code}"
        else:
            try:
                how = f"by signal {signal.Signals(-code).name}"
            except ValueError:
                how = f"by signal {-code}"
        print(f"weft.run: rank {rank} ended {how}; the others are ended", file=sys.stderr)

    def send(self, number: int) -> None:
        """Sends a signal to all ranks and what they started."""
        for process in self._ranks:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, number)
                except ProcessLookupError:
                    pass

    def stop(self, number: int) -> None:
        """Passes on a signal that asks the job to end."""
        self.code = self.code or 128 + number
        self._end_at = time.monotonic() + GRACE
        self.send(number)

    def end(self) -> None:
        """Ends all ranks: asks them, and kills those that have not ended after a moment."""
        self.send(signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        for process in self._ranks:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        self.send(signal.SIGKILL)


def command_of(words: Sequence[str], module: bool) -> list[str]:
    """The command of a rank: a module or script of Python, or a program."""
    if module:
        return [sys.executable, "-m", *words]
    if words[0].endswith(".py"):
        return [sys.executable, *words]
    return list(words)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m weft.run", description="Starts the ranks of a job on this host."
    )
    parser.add_argument("-n", type=int, default=os.cpu_count(), metavar="RANKS",
                        help="number of ranks (the cores of this host)")
    parser.add_argument("-p", "--prefix", action="store_true",
                        help="each line of output begins with its rank")
    parser.add_argument("-m", "--module", action="store_true",
                        help="COMMAND is the name of a module of Python")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND",
                        help="a script of Python or a program, with its arguments")
    found = parser.parse_args(arguments)
    if not found.command:
        parser.error("which script? python -m weft.run -n 4 script.py")
    if found.n < 1:
        parser.error(f"-n {found.n}: at least one rank")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    found = parse(arguments)
    job = Job(command_of(found.command, found.module), found.n, found.prefix)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, frame: job.stop(received))
    return job.wait()


if __name__ == "__main__":
    sys.exit(main())
