# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: ranks as threads of this process, and ranks as processes."""

import faulthandler
import os
import subprocess
import sys
import threading
import unittest

import weft

try:
    import numpy
except ImportError:
    numpy = None

needs_numpy = unittest.skipIf(numpy is None, "no numpy")


def ranks(nranks, function, **options):
    """Runs function(comm) on ranks that are threads. Returns what they returned, by rank."""
    key = weft.unique_id()
    results, errors = [None] * nranks, [None] * nranks

    def run(rank):
        try:
            with weft.Communicator(nranks, rank, key, **options) as comm:
                results[rank] = function(comm)
        except BaseException as error:
            errors[rank] = error

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(nranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        if thread.is_alive():
            faulthandler.dump_traceback(all_threads=True)
            raise AssertionError("a rank does not end")
    # A rank that left because of another one's failure is not the cause.
    for error in sorted(filter(None, errors), key=lambda e: isinstance(e, weft.PeerLeft)):
        raise error
    return results


def failures(nranks, function):
    """Runs function(comm) on ranks that are threads, and returns what they raised, by rank."""

    def attempt(comm):
        try:
            function(comm)
        except Exception as error:
            return error
        return None

    return ranks(nranks, attempt)


def job(nranks, script, *arguments, timeout=60, runner=()):
    """Runs a script, given as text, on ranks that are processes. Returns the finished starter."""
    command = [sys.executable, "-m", "weft.run", "-n", str(nranks), *runner]
    command += [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def main():
    """unittest.main(), and a line that the test's summary shows for what was left out."""
    program = unittest.main(exit=False, verbosity=1, module=sys.modules["__main__"])
    skipped = program.result.skipped
    if skipped:
        reasons = sorted({reason for _, reason in skipped})
        print(f"left out: {len(skipped)} cases: {', '.join(reasons)}")
    sys.stdout.flush()
    # Threads of ranks that hang must not keep the test from ending.
    os._exit(0 if program.result.wasSuccessful() else 1)
