# SPDX-License-Identifier: BSD-3-Clause
"""Runs a script of these tests in several processes, as torchrun would, without its seconds.

    python launch.py SCRIPT [arguments]

A line "# ranks: N" in the script says how many; 2 if there is none. With a line "# dies: R", rank R
is killed by a signal, which is right. The exit status is the first one that is not 0. A process
that ends badly takes the others with it after some seconds.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time

GRACE = 10


def free_port():
    """A port that nobody has, below those that the system gives to whoever asks for any."""
    for i in range(1000):
        port = 15000 + (os.getpid() * 7 + i) % 15000
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    sys.exit("no free port from 15000 to 29999")


def number_of(script, name, otherwise):
    """The number in the line "# name: number" of a script."""
    with open(script) as file:
        found = re.search(rf"^# {name}: (\d+)$", file.read(), re.MULTILINE)
    return int(found[1]) if found else otherwise


def wait_for(processes):
    """The first bad status. The others get some time to say what they think of it."""
    status, deadline = 0, None
    while any(process.poll() is None for process in processes):
        for process in processes:
            if process.poll() and not status:
                status, deadline = process.returncode, time.monotonic() + GRACE
        if deadline and time.monotonic() > deadline:
            for process in processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGCONT)
                    process.kill()
        time.sleep(0.02)
    return status or next((process.returncode for process in processes if process.returncode), 0)


def main():
    script = sys.argv[1]
    count, dies = number_of(script, "ranks", 2), number_of(script, "dies", None)
    port = free_port()
    processes = []
    for rank in range(count):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count),
                           LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(port))
        processes.append(subprocess.Popen([sys.executable, *sys.argv[1:]], env=environment))
    if dies is not None:
        dead = processes.pop(dies)
        if dead.wait() >= 0:
            sys.exit(f"rank {dies} was not killed")
    status = wait_for(processes)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
