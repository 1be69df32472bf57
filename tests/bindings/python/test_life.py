# SPDX-License-Identifier: BSD-3-Clause
"""Signals, the end of the interpreter, fork, forgotten communicators: with processes as ranks."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

import weft
from weft import _waiting, communicator
from support import job, main

# A shell that starts this in the background has Ctrl-C ignored; what is started here inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)

WAITS = {
    "barrier": "comm.barrier()",
    "receive": "comm.recv(data, 1)",
    "group": """
with weft.group():
    comm.recv(data, 1)
    comm.all_reduce(bytearray(8))""",
    "signal": "comm.wait_signal(1)",
    "request": "comm.start.recv(data, 1).wait()",
    "split": "comm.split(0)",
    "agree": "comm.agree(1)",
    "shrink": "comm.shrink()",
    "window": "comm.window(data)",
}


def waiting_rank(statement, handler=""):
    """Two ranks, of which rank 0 waits in vain; it prints its process id before."""
    return f"""
import os, signal, sys, time, weft
comm = weft.Communicator()
data = bytearray(8)
comm.all_reduce(data)
if comm.rank == 1:
    time.sleep(30)
{handler}
print(os.getpid(), flush=True)
try:
    exec({statement!r})
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
"""


class Waiting:
    """A job of two ranks whose rank 0 waits."""

    def __init__(self, script):
        command = [sys.executable, "-m", "weft.run", "-n", "2", sys.executable, "-c", script]
        self.starter = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.starter.stdout.readline())
        # It has said so just before it begins to wait.
        time.sleep(0.4)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.starter.terminate()
        self.starter.stdout.close()
        self.starter.wait(30)


class Signals(unittest.TestCase):
    def test_ctrl_c_ends_every_wait_within_a_second(self):
        for name, statement in WAITS.items():
            with self.subTest(name), Waiting(waiting_rank(statement)) as job_:
                began = time.monotonic()
                os.kill(job_.pid, signal.SIGINT)
                line = job_.starter.stdout.readline()
                took = time.monotonic() - began
                self.assertEqual(line, "interrupted\n")
                self.assertLess(took, 1.0)

    def test_what_ctrl_c_raises_leaves_a_with_statement(self):
        for statement in ("comm.split(0)", "comm.grow()", "comm.window(data)", "comm.agree(1)"):
            script = f"""
import os, sys, time, weft
data = bytearray(8)
try:
    with weft.Communicator() as comm:
        comm.all_reduce(data)
        if comm.rank == 1:
            time.sleep(30)
        print(os.getpid(), flush=True)
        {statement}
except BaseException as error:
    print(type(error).__name__, type(error.__context__).__name__, flush=True)
os._exit(0)
"""
            with self.subTest(statement), Waiting(script) as job_:
                os.kill(job_.pid, signal.SIGINT)
                line = job_.starter.stdout.readline()
                self.assertEqual(line, "KeyboardInterrupt NoneType\n")

    def test_after_ctrl_c_the_communicator_can_be_destroyed(self):
        for name in ("agree", "shrink"):
            statement = f"with comm: {WAITS[name]}"
            with self.subTest(name), Waiting(waiting_rank(statement)) as job_:
                os.kill(job_.pid, signal.SIGINT)
                self.assertEqual(job_.starter.stdout.readline(), "interrupted\n")

    def test_ctrl_c_ends_joining_within_a_second(self):
        script = """
import os, weft
print(os.getpid(), flush=True)
try:
    weft.Communicator(2, 0, weft.unique_id())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        ) as process:
            process.stdout.readline()
            time.sleep(0.4)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.stdout.readline(), "interrupted\n")
            self.assertLess(time.monotonic() - began, 1.0)
            process.wait(10)
            self.assertLess(time.monotonic() - began, 3.0)

    def test_ctrl_c_while_joining_is_told_to_the_others(self):
        script = """
import os, sys, weft
print("joins", flush=True)
try:
    weft.Communicator(3, int(sys.argv[1]), bytes.fromhex(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
except weft.WeftError as error:
    print(error.peer, flush=True)
"""
        key = weft.unique_id().hex()
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(rank), key],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for rank in (0, 1)
        ]
        for rank in ranks:
            self.assertEqual(rank.stdout.readline(), "joins\n")
        time.sleep(1)
        ranks[1].send_signal(signal.SIGINT)
        self.assertEqual(ranks[1].communicate(timeout=30)[0], "interrupted\n")
        self.assertEqual(ranks[0].communicate(timeout=30)[0], "1\n")

    def test_a_handler_runs_and_the_wait_goes_on(self):
        handler = "signal.signal(signal.SIGUSR1, lambda *a: print('handled', flush=True))"
        with Waiting(waiting_rank("comm.barrier()", handler)) as job_:
            for number, line in ((signal.SIGUSR1, "handled\n"), (signal.SIGINT, "interrupted\n")):
                os.kill(job_.pid, number)
                self.assertEqual(job_.starter.stdout.readline(), line)


class Interrupted(Exception):
    """What a handler of a signal raises."""


def interrupted_before(line, function):
    """Calls a function in which a handler raises before the n-th line of Python. Says whether it
    came so far."""
    left = [line]

    def trace(frame, event, argument):
        left[0] -= 1
        if left[0] < 0:
            sys.settrace(None)
            raise Interrupted
        return trace

    try:
        sys.settrace(trace)
        function()
    except Interrupted:
        return True
    finally:
        sys.settrace(None)
    return False


class Counting:
    """The library, with the communicators that were made of others counted."""

    def __init__(self, library):
        self._library = library
        self.made = set()

    def __getattr__(self, name):
        return getattr(self._library, name)

    def weft_comm_split(self, comm, color, key, child):
        status = self._library.weft_comm_split(comm, color, key, child)
        if status == 0:
            self.made.add(child._obj.value)
        return status

    def weft_comm_destroy(self, comm):
        self.made.discard(comm)
        return self._library.weft_comm_destroy(comm)


class EveryLine(unittest.TestCase):
    def test_a_handler_that_raises_ends_a_call_wherever_it_is(self):
        # It is in its wait from about the 30th on.
        for line in range(40):
            with self.subTest(line):
                cancelled, left, ends = threading.Event(), [], []

                def function():
                    ends.append(cancelled.wait(60))
                    return 0

                def call():
                    _waiting.call(function, cancelled.set, left)

                self.assertTrue(interrupted_before(line, call))
                # It waited for the whole minute, or has ended, or was not called and never is.
                self.assertTrue(all(run.end(60) for run in left))
                self.assertEqual(ends, [True] * len(ends))
                self.assertTrue(cancelled.is_set() or not left)

    def test_a_communicator_that_nobody_gets_is_destroyed(self):
        library = communicator.lib
        self.addCleanup(setattr, communicator, "lib", library)
        line, ended = 0, False
        while not ended:
            communicator.lib = Counting(library)
            with self.subTest(line), warnings.catch_warnings(), weft.Communicator() as comm:
                warnings.simplefilter("ignore", ResourceWarning)
                kept = []
                ended = not interrupted_before(line, lambda: kept.append(comm.split(0)))
                for run in comm._left:
                    self.assertTrue(run.end(60))
                deadline = time.monotonic() + 60
                # The thread that made it holds it a moment longer.
                while len(communicator.lib.made) > len(kept) and time.monotonic() < deadline:
                    gc.collect()
                    time.sleep(0.01)
                self.assertEqual(len(communicator.lib.made), len(kept))
                for child in kept:
                    child.destroy()
            line += 1


class TheEnd(unittest.TestCase):
    def check_exit(self, script, code=0, nranks=2):
        began = time.monotonic()
        result = job(nranks, script, runner=["-p"])
        took = time.monotonic() - began
        self.assertEqual(result.returncode, code, result.stderr)
        return result, took

    def test_a_program_that_has_gone_elsewhere_finds_its_plugins(self):
        """The library was opened by a path that is no longer one."""
        with open("/proc/self/maps") as maps:
            path = next(line.split()[-1] for line in maps if "/libweft.so" in line)
        script = f"""
import ctypes, os
library = ctypes.CDLL({"./" + os.path.basename(path)!r})
os.chdir("/")
comm = ctypes.c_void_p()
assert library.weft_comm_init_launcher(ctypes.byref(comm), None) == 0
assert library.weft_comm_destroy(comm) == 0
"""
        here = os.path.dirname(path)
        done = subprocess.run([sys.executable, "-c", script], cwd=here, timeout=60)
        self.assertEqual(done.returncode, 0)

    def test_the_interpreter_ends_with_operations_under_way(self):
        script = """
import array, time, weft
comm = weft.Communicator()
data = array.array("d", [1.0] * 1000000)
try:
    comm.all_reduce(data)
except weft.Aborted:
    assert comm.rank == 1  # rank 0 had its result, began the others and ended
if comm.rank == 0:
    requests = [comm.start.recv(data, 1), comm.start.all_reduce(data)]
print("end", time.time(), flush=True)
"""
        result, _ = self.check_exit(script)
        last = max(float(line.split()[-1]) for line in result.stdout.splitlines())
        self.assertLess(time.time() - last, 2.0)

    def test_the_interpreter_ends_while_a_daemon_thread_waits(self):
        script = """
import threading, time, weft
comm = weft.Communicator()
def receive():
    try:
        comm.recv(bytearray(8), 1)
    except weft.Aborted:
        pass # Python ends a process whose thread writes a traceback in this moment
if comm.rank == 0:
    threading.Thread(target=receive, daemon=True).start()
    time.sleep(0.3)
    print("end", time.time(), flush=True)
else:
    time.sleep(0.5)
"""
        result, _ = self.check_exit(script)
        self.assertLess(time.time() - float(result.stdout.split()[-1]), 2.0 + 0.2)

    def test_what_is_complete_needs_no_abort(self):
        """A message that was sent arrives, also if nobody has waited for its request."""
        ends = {
            "exit": "pass",
            "forgotten": "del comm",
            "atexit": "__import__('atexit').register(comm.destroy)",
            # As at the end of a process in Python 3.12.
            "no thread": """
import _thread
def refuse(*_):
    raise RuntimeError("can't create new thread at interpreter shutdown")
_thread.start_new_thread = refuse
comm.destroy()
""",
            "exception": """
try:
    with comm:
        raise KeyError
except KeyError:
    pass
""",
        }
        for name, end in ends.items():
            script = f"""
import array, time, weft
comm = weft.Communicator()
comm.barrier()
if comm.rank == 0:
    comm.send(array.array("q", [41]), 1)
    comm.start.send(array.array("q", [42]), 1)
    comm.send(array.array("q", [43]), 1)  # behind it
    {end.strip().replace(chr(10), chr(10) + "    ")}
else:
    data = array.array("q", [0])
    comm.recv(data, 0)
    time.sleep(0.7)
    for _ in range(2):
        comm.recv(data, 0)
        print(data[0], flush=True)
    comm.destroy()
"""
            with self.subTest(name):
                result, _ = self.check_exit(script)
                self.assertEqual(result.stdout, "[1] 42\n[1] 43\n")

    def test_peers_of_a_rank_that_ends_are_told(self):
        script = """
import sys, weft
comm = weft.Communicator()
comm.barrier()
if comm.rank == 0:
    sys.exit(0)
try:
    comm.barrier()
except (weft.PeerLeft, weft.PeerDead, weft.Aborted) as error:
    print(type(error).__name__, error.peer, flush=True)
"""
        result, _ = self.check_exit(script)
        self.assertRegex(result.stdout, r"\[1\] (PeerLeft|PeerDead|Aborted) 0\n")

    def test_a_forked_child_may_not_use_it_and_does_not_end_it(self):
        script = """
import os, weft
comm = weft.Communicator()
data = bytearray(1)
child = os.fork()
if child == 0:
    try:
        comm.barrier()
    except weft.WeftError as error:
        os._exit(7 if "belongs to the parent" in str(error) else 8)
    os._exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
child = os.fork()
if child == 0:
    raise SystemExit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
comm.all_reduce(data)
comm.destroy()
print("fine", flush=True)
"""
        result, _ = self.check_exit(script)
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] fine", "[1] fine"])

    def test_a_forked_child_leaves_the_memory_of_its_parent_alone(self):
        script = """
import os, weft
for replaces in (False, True):
    memory = weft.alloc(10000, "uint8")
    memory.view()[5000] = 42
    child = os.fork()
    if child == 0:
        memory = weft.alloc(10000, "uint8") if replaces else None
        os._exit(0 if memory is None or memory.view()[5000] == 0 else 7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    print(memory.view()[5000], flush=True)
"""
        result, _ = self.check_exit(script)
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] 42"] * 2 + ["[1] 42"] * 2)

    def test_a_forgotten_communicator_warns_and_is_destroyed(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            comm = weft.Communicator()
            comm.barrier()
            del comm
            gc.collect()
        self.assertEqual([each.category for each in caught], [ResourceWarning])
        self.assertRegex(str(caught[0].message), "rank 0 of 1> was not destroyed")

    def test_a_destroyed_communicator_does_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with weft.Communicator() as comm:
                comm.barrier()
            del comm
            gc.collect()


if __name__ == "__main__":
    main()
