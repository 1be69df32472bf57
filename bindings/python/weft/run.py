# SPDX-License-Identifier: BSD-3-Clause
"""python -m weft.run -n 4 script.py: starts the ranks of a job on this host.

The ranks find each other by the variables of torchrun (RANK, WORLD_SIZE, …), so that scripts for
torchrun run as well. When a rank fails, the others are ended. The exit code is that of the rank
that failed first, or of one that is found killed or crashed right after it. What ranks write as
errors is copied line by line, with the rank in front.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import re
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO, Mapping, NoReturn, Sequence

# Seconds after a failure in which the other ranks, which weft tells of it, may say so and end.
LAST_WORDS = 0.5
# Seconds from the request to end until a rank is killed.
GRACE = 2.0
# Descriptors of the standard streams.
STDOUT, STDERR = 1, 2
# Signals that ask the job to end.
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Bars of progress end their lines with a return.
LINE_END = re.compile(rb"(?<=[\r\n])")
# Variables of launchers that may have started this program: their ranks are not ours.
FOREIGN = (
    "OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "SLURM_", "HYDRA_", "PRTE_", "TORCHELASTIC_",
    "GROUP_RANK", "GROUP_WORLD_SIZE", "JOB_COMPLETION_INDEX",
    "WEFT_RANK", "WEFT_NRANKS", "WEFT_LOCAL_", "WEFT_UNIQUE_ID",
)


def python() -> str:
    """This interpreter. It does not know its path where PATH is not set."""
    return sys.executable or os.readlink("/proc/self/exe")


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


def open_standard() -> None:
    """A standard stream that is closed leads nowhere: a pipe to a rank must not get its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def put(fd: int, data: bytes) -> None:
    """Writes all of it, and keeps nothing for later: what could not be written is an OSError."""
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            select.select([], [fd], [])


def reason(error: OSError) -> str:
    """Why a process cannot be started, and which limit may be it."""
    notes = {errno.EMFILE: " (see ulimit -n)", errno.EAGAIN: " (see ulimit -u)"}
    if error.filename and "/" in error.filename and os.path.exists(error.filename):
        notes[errno.ENOENT] = " (the interpreter or loader that it names)"
    return f"{error.strerror}{notes.get(error.errno or 0, '')}"


class Guard:
    """A process that kills the ranks that run, with all that they have started, when this one has
    been killed: the pipe through which it hears of them ends then. What a rank that has ended left
    behind stays, as it does without a guard."""

    # Reads the number of each process group that begins, and that with a minus when it has ended.
    _PROGRAM = """
import os
groups = set()
for line in os.fdopen(0):
    number = int(line)
    if number > 0:
        groups.add(number)
    else:
        groups.discard(-number)
for group in groups:
    try:
        os.killpg(group, 9)
    except OSError:
        pass
"""

    def __init__(self) -> None:
        # In a session of its own, it lives on where a terminal ends a job.
        try:
            self._process = subprocess.Popen(
                [python(), "-I", "-S", "-c", self._PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise SystemExit(f"weft.run: cannot start its guard: {reason(error)}") from None

    def begins(self, rank: subprocess.Popen[bytes]) -> None:
        self._tell(rank.pid)

    def has_ended(self, rank: subprocess.Popen[bytes]) -> None:
        self._tell(-rank.pid)

    def _tell(self, number: int) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"%d\n" % number)
            self._process.stdin.flush()
        except OSError:
            pass  # somebody has killed it

    def end(self) -> None:
        """Nothing is left to guard."""
        self._process.kill()
        self._process.wait()


class Job:
    """The ranks of a job as processes."""

    def __init__(self) -> None:
        self.code = 0
        # The line about the rank that was killed or has crashed, unless it failed first.
        self._cause: str | None = None
        self._crashed = False
        self._guard = Guard()
        self._end_at: float | None = None
        self._ended = False
        self._asked: int | None = None
        self._pauses = False
        self._copiers: list[threading.Thread] = []
        self._ranks: list[subprocess.Popen[bytes]] = []
        # One for each stream: where nobody reads the output, errors are told all the same.
        self._writing = {STDOUT: threading.Lock(), STDERR: threading.Lock()}
        # Copiers that have something to write.
        self._busy: set[IO[bytes]] = set()
        # Output that could not be written: the stream, and why.
        self._lost: tuple[int, OSError] | None = None

    def start(self, command: Sequence[str], nranks: int, prefix: bool) -> None:
        """Starts the ranks. A signal that came before or comes meanwhile is obeyed."""
        job, port = f"weft-{secrets.token_hex(8)}", free_port()
        for rank in range(nranks):
            if self.code:
                break
            self._list(self._begin(command, rank, nranks, prefix, job, port))
            self._pause()

    def _list(self, process: subprocess.Popen[bytes]) -> None:
        """Lists a rank. A signal that came while it was started is passed on to it."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
        asked = self._asked
        self._ranks.append(process)
        self._guard.begins(process)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if asked is not None:
            self._signal(process, asked)

    def _begin(
        self, command: Sequence[str], rank: int, nranks: int, prefix: bool, job: str, port: int
    ) -> subprocess.Popen[bytes]:
        # Of several ranks that fail at once nobody could read the traces that mix.
        pipe = subprocess.PIPE if prefix or nranks > 1 else None
        try:
            process = subprocess.Popen(
                command,
                env=rank_environment(rank, nranks, job, port, os.environ),
                stdin=None if rank == 0 else subprocess.DEVNULL,
                stdout=subprocess.PIPE if prefix else None,
                stderr=pipe,
                # Signals of the terminal come to this program, which passes them on.
                start_new_session=True,
            )
        except OSError as error:
            self._give_up(f"cannot start {command[0]}: {reason(error)}")
        try:
            if prefix:
                self._copy(process.stdout, STDOUT, rank)
            if pipe is not None:
                self._copy(process.stderr, STDERR, rank)
        except RuntimeError as error:
            self._signal(process, signal.SIGKILL)
            self._give_up(f"cannot copy what rank {rank} writes: {error}")
        return process

    def _give_up(self, text: str) -> NoReturn:
        """Ends the ranks that were started."""
        self.end()
        self._guard.end()
        raise SystemExit(f"weft.run: {text}")

    def _copy(self, source: IO[bytes] | None, target: int, rank: int) -> None:
        assert isinstance(source, io.BufferedReader)
        read = source.read1

        def run() -> None:
            left = b""
            for chunk in iter(lambda: read(1 << 16), b""):
                self._busy.add(source)
                *lines, left = LINE_END.split(left + chunk)
                self._write(target, rank, lines)
                self._busy.discard(source)
            if left:
                self._busy.add(source)
                self._write(target, rank, [left + b"\n"])
                self._busy.discard(source)

        copier = threading.Thread(target=run, daemon=True)
        copier.start()
        self._copiers.append(copier)

    def _write(self, target: int, rank: int, lines: Sequence[bytes]) -> None:
        """Writes lines of a rank, together. Where that fails what is read from ranks is dropped, so
        that they do not wait for somebody to read it, and wait() ends them."""
        with self._writing[target]:
            if self._lost is None:
                try:
                    put(target, b"".join(b"[%d] %s" % (rank, line) for line in lines))
                except OSError as error:
                    self._lost = (target, error)

    def _say(self, text: str) -> None:
        with self._writing[STDERR], contextlib.suppress(OSError):
            put(STDERR, f"weft.run: {text}\n".encode(errors="replace"))

    def _end_for_lost_output(self) -> None:
        """Nobody would see what the ranks compute. Who reads no more, as head(1), knows why."""
        assert self._lost is not None
        stream, error = self._lost
        if error.errno == errno.EPIPE:
            self.code = self.code or 128 + signal.SIGPIPE
        else:
            name = "output" if stream == STDOUT else "error"
            left = any(process.poll() is None for process in self._ranks)
            end = "; the ranks are ended" if left else ""
            self._say(f"cannot write to standard {name}: {error.strerror}{end}")
            self.code = self.code or 1
        self.stop(signal.SIGTERM)

    def wait(self) -> int:
        """Waits for all ranks. When one fails the others are ended."""
        left = dict(enumerate(self._ranks))
        nap = 0.001
        while left:
            for rank, process in list(left.items()):
                if process.poll() is None:
                    continue
                del left[rank]
                self._guard.has_ended(process)
                # Those that fail because they are ended are no news.
                if process.returncode != 0 and not self._ended:
                    self._tell(rank, process.returncode)
            if left and self._lost is not None and not self._ended:
                self._end_for_lost_output()
            if left and self._end_at is not None and time.monotonic() >= self._end_at:
                self.end()
            self._pause()
            time.sleep(nap)
            nap = min(2 * nap, 0.05)
        self._drain()
        if self._lost is not None and not self._ended:
            self._end_for_lost_output()
        if self._cause is not None and self._asked is None:
            self._say(self._cause)
        self._guard.end()
        return self.code

    def _drain(self) -> None:
        """Waits for what the ranks have written, as long as somebody takes it. What a rank has left
        behind may keep its streams open, and is not waited for once it is silent."""
        until = time.monotonic() + GRACE
        for copier in self._copiers:
            while copier.is_alive() and time.monotonic() < until:
                copier.join(0.02)
                self._pause()
                if self._busy and not self._ended:
                    until = time.monotonic() + GRACE

    def _tell(self, rank: int, code: int) -> None:
        if code > 0:
            how = f"with code {code}"
        else:
            try:
                how = f"by signal {signal.Signals(-code).name}"
            except ValueError:
                how = f"by signal {-code}"
        end = "" if self.code else "; the others are ended"
        if not self.code:
            self.code = code if code > 0 else 128 - code
            self._end_at = time.monotonic() + LAST_WORDS
        self._say(f"rank {rank} ended {how}{end}")
        # Ranks that lose a neighbour end soon after it, and may be seen to end before it. Programs
        # abort because of the errors of others, too.
        if code < 0 and code != -signal.SIGABRT and not self._crashed:
            self._crashed = True
            self.code = 128 - code
            self._cause = None if end else f"the cause is probably rank {rank}, which ended {how}"

    def send(self, number: int) -> None:
        """Sends a signal to all ranks and what they started."""
        for process in self._ranks:
            self._signal(process, number)

    @staticmethod
    def _signal(process: subprocess.Popen[bytes], number: int) -> None:
        if process.poll() is None:
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass

    def stop(self, number: int) -> None:
        """Passes on a signal that asks the job to end."""
        self.code = self.code or 128 + number
        self._asked = number
        self._end_at = time.monotonic() + GRACE
        self._ended = True
        self.send(number)

    def ask_to_pause(self) -> None:
        """Of a handler, which may come when a rank is not listed yet."""
        self._pauses = True

    def _pause(self) -> None:
        """Stops with the ranks, as Ctrl-Z asks, and goes on with them."""
        if not self._pauses:
            return
        self._pauses = False
        self.send(signal.SIGSTOP)
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # stops here
        signal.signal(signal.SIGTSTP, handler)
        self.send(signal.SIGCONT)

    def end(self) -> None:
        """Ends all ranks: asks them, and kills those that have not ended after a moment."""
        self._ended = True
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
        return [python(), "-m", *words]
    if words[0].endswith(".py"):
        return [python(), *words]
    return list(words)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m weft.run",
        usage="python -m weft.run [-n RANKS] [-p] [-m] COMMAND …",
        description="Starts the ranks of a job on this host.",
    )
    parser.add_argument("-n", type=int, default=os.cpu_count(), metavar="RANKS",
                        help="number of ranks (the cores of this host)")
    parser.add_argument("-p", "-l", "--prefix", "--label", action="store_true",
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
    script = found.command[0]
    if not found.module and script.endswith(".py") and not os.path.isfile(script):
        parser.error(f"there is no file {script}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    found = parse(arguments)
    open_standard()
    job = Job()
    # Before ranks are started: they get the signals' default, also if this program ignored them.
    for number in PASSED_ON:
        signal.signal(number, lambda received, frame: job.stop(received))
    if signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, lambda received, frame: job.ask_to_pause())
    job.start(command_of(found.command, found.module), found.n, found.prefix)
    return job.wait()


if __name__ == "__main__":
    sys.exit(main())
