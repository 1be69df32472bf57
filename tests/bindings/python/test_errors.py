# SPDX-License-Identifier: BSD-3-Clause
"""Failures are exceptions with fields that say who and why."""

import array
import copy
import os
import pickle
import subprocess
import sys
import tempfile
import time
import unittest

import weft
from support import failures, job, main, ranks
from weft import _library, _waiting, errors


def ints(count):
    return array.array("q", [1] * count)


class Kinds(unittest.TestCase):
    def test_every_failure_has_an_exception_of_its_own(self):
        statuses = [status for status in weft.Status if status < 0]
        self.assertEqual(sorted(errors.KINDS), sorted(statuses))
        self.assertEqual(len(set(errors.KINDS.values())), len(statuses))
        for kind in errors.KINDS.values():
            self.assertIs(getattr(weft, kind.__name__), kind)
            self.assertTrue(issubclass(kind, weft.WeftError))
        self.assertTrue(issubclass(weft.Timeout, TimeoutError))
        self.assertTrue(issubclass(weft.ArgumentError, ValueError))

    def test_fields_that_do_not_apply_are_none(self):
        record = _library.Error(rank=-1, peer=3, peer_pid=-1, text=b"late", peer_host=b"n1")
        error = weft.Timeout(weft.Status.ERR_TIMEOUT, record)
        self.assertEqual((error.rank, error.peer, error.peer_pid), (None, 3, None))
        self.assertEqual((error.host, error.text, error.sequence), ("n1", "late", None))
        self.assertEqual(str(error), "ERR_TIMEOUT: late")

    def test_an_exception_can_be_sent_to_another_process(self):
        record = _library.Error(rank=1, peer=0, sequence=7, text=b"sizes")
        error = pickle.loads(pickle.dumps(weft.Mismatch(weft.Status.ERR_MISMATCH, record)))
        self.assertIs(type(error), weft.Mismatch)
        self.assertEqual((error.rank, error.peer, error.sequence), (1, 0, 7))
        self.assertEqual(str(error), "ERR_MISMATCH: sizes")
        late = pickle.loads(pickle.dumps(weft.Timeout(weft.Status.ERR_TIMEOUT, record)))
        self.assertEqual((str(late), late.peer), ("ERR_TIMEOUT: sizes", 0))


class Failures(unittest.TestCase):
    def test_ranks_that_disagree(self):
        found = failures(2, lambda comm: comm.all_reduce(ints(4 + 4 * comm.rank)))
        for rank, error in enumerate(found):
            self.assertIsInstance(error, weft.Mismatch)
            self.assertRegex(str(error), "count")
            self.assertEqual(error.rank, rank)
            self.assertIn(error.peer, (0, 1))
            self.assertEqual(error.sequence, 1)

    def test_a_failed_communicator_tells_the_first_error_again(self):
        def run(comm):
            for _ in range(2):
                with self.assertRaises(weft.Mismatch):
                    comm.all_reduce(ints(4 + 4 * comm.rank))
            self.assertIsInstance(comm.error(), weft.Mismatch)
            with self.assertRaises(weft.Mismatch):
                comm.barrier()

        ranks(2, run)

    def test_a_deadline_names_who_was_waited_for(self):
        def run(comm):
            self.assertIsNone(comm.error())
            if comm.rank == 0:
                began = time.monotonic()
                try:
                    comm.barrier(timeout=0.3)
                finally:
                    self.assertLess(time.monotonic() - began, 5)
                    self.assertEqual(comm.missing(), [1])
            else:
                time.sleep(1)

        found = failures(2, run)
        self.assertIsInstance(found[0], weft.Timeout)
        self.assertIsInstance(found[0], TimeoutError)
        self.assertRegex(str(found[0]), "rank 1")

    def test_a_failure_of_a_request_is_raised_by_wait(self):
        def run(comm):
            request = comm.start.all_reduce(ints(4 + 4 * comm.rank))
            try:
                request.wait()
            except weft.Mismatch:
                with self.assertRaises(weft.Mismatch):
                    request.wait()
                raise

        self.assertEqual([type(each) for each in failures(2, run)], [weft.Mismatch] * 2)

    def test_an_unknown_option_names_the_nearest(self):
        with self.assertRaisesRegex(weft.ConfigError, "op_timeout"):
            weft.Communicator(settings={"exec.op_timeuot": 3})

    def test_every_call_of_a_destroyed_communicator_says_so(self):
        comm = weft.Communicator()
        op, window = comm.create_op(print), comm.window(weft.alloc(8), local=True)
        comm.destroy()
        comm.destroy()
        for call in (
            lambda: comm.all_reduce(ints(1)),
            lambda: comm.all_reduce(ints(1), op=op),
            lambda: comm.start.all_reduce(ints(1), op=op),
            lambda: comm.explain(weft.Coll.ALL_REDUCE, 1, op=op),
            lambda: comm.put_signal(ints(1), 0, window),
            lambda: comm.start.all_reduce(ints(1)),
            lambda: comm.recv(ints(1), 0),
            lambda: comm.split(0),
            comm.dup,
            comm.missing,
            comm.error,
            comm.revoke,
            comm.error_fd,
            lambda: comm.name,
            lambda: setattr(comm, "name", "x"),
            lambda: comm.set_channels(1),
            lambda: comm.agree(1),
            lambda: comm.tickets(),
            lambda: comm.explain(weft.Coll.BARRIER, 0),
            lambda: comm.predict(weft.Coll.BARRIER, 0),
            lambda: comm.register(ints(1)),
            lambda: comm.window(ints(1)),
            lambda: comm.window(ints(1), local=True),
            lambda: comm.wait_signal(0),
            lambda: comm.create_op(print),
        ):
            with self.assertRaisesRegex(weft.StateError, "the communicator has been destroyed"):
                call()

    def test_wrong_words_are_named(self):
        with weft.Communicator() as comm:
            for kind, call, text in (
                (TypeError, lambda: comm.all_reduce(ints(1), op="sum"), "op: 'sum' is not one of"),
                (TypeError, lambda: comm.broadcast(ints(1), root="a"), "root: 'a' is not the"),
                (TypeError, lambda: comm.wait_signal(0, "a"), "count: 'a' is not a number of sig"),
                (ValueError, lambda: comm.wait_signal(0, -1), "count: -1 is not from 0"),
                (ValueError, lambda: comm.signal(1), "peer: 1 is no rank of 1"),
                (TypeError, lambda: comm.split("a"), "color: 'a' is not a whole"),
                (TypeError, lambda: comm.create_group(["a"]), "ranks: 'a' is not the number of a"),
                (TypeError, lambda: comm.create_group(1), "ranks: 1 is no list of ranks"),
                (TypeError, lambda: weft.Communicator(2, 0.5, bytes(128)), "rank: 0.5 is not a w"),
                (TypeError, lambda: comm.explain("x", 1), "coll: 'x' is not one of weft.Coll"),
                (TypeError, lambda: comm.create_op(None), "function: None cannot be called"),
                (TypeError, lambda: comm.put_signal(ints(1), 0, None), "window: None is none of"),
                (ValueError, lambda: weft.alloc(1, "q9"), "dtype: 'q9' is none of int8, uint8"),
                (ValueError, lambda: weft.alloc(1, 99), "dtype: 99 is none of int8, uint8"),
                (TypeError, lambda: weft.alloc(1.5), "count: 1.5 is not a number of elements"),
                (TypeError, lambda: setattr(comm, "name", None), "name: None is no text"),
                (ValueError, lambda: setattr(comm, "name", "a\0b"), "name: .* has a NUL"),
                (TypeError, lambda: weft.Communicator(settings=["a.b=1"]), "settings: .* no d"),
                (TypeError, lambda: weft.Communicator(config=3), "config: 3 is no path"),
                (weft.ConfigError, lambda: weft.Communicator(config=b"/none"), "file /none: No su"),
            ):
                with self.assertRaisesRegex(kind, text):
                    call()

    def test_numbers_that_do_not_fit_are_named(self):
        key = weft.unique_id()
        with weft.Communicator() as comm:
            for name, call in (
                ("nranks: 4294967297", lambda: weft.Communicator(2**32 + 1, 0, key)),
                ("nranks: -1", lambda: weft.Communicator(-1, 0, key)),
                ("rank: -1", lambda: weft.Communicator(2, -1, key)),
                ("color: 4294967296", lambda: comm.split(2**32)),
                ("key: 4294967296", lambda: comm.split(0, 2**32)),
                ("ranks: 4294967296", lambda: comm.create_group([2**32])),
                ("tag: -1", lambda: comm.create_group([0], -1)),
                ("excluded: -1", lambda: comm.shrink([-1])),
                ("op: 4294967296", lambda: comm.all_reduce(ints(1), op=2**32)),
                ("count: -1", lambda: weft.alloc(-1)),
                (f"count: {2**64 + 1}", lambda: weft.alloc(2**64 + 1)),
                (f"count: {2**61}", lambda: weft.alloc(2**61, "f8")),
                ("bits: 18446744073709551616", lambda: comm.agree(2**64)),
                ("most: 4294967296", lambda: comm.set_channels(2**32)),
                ("count: -1", lambda: comm.explain(weft.Coll.ALL_REDUCE, -1)),
                ("count: -1", lambda: comm.predict(weft.Coll.ALL_REDUCE, -1)),
            ):
                with self.subTest(name), self.assertRaisesRegex(ValueError, f"^{name} is not from"):
                    call()
            self.assertEqual([comm.agree(-1), comm.agree(2**64 - 1)], [2**64 - 1] * 2)

    def test_what_belongs_to_a_process_is_not_copied(self):
        """A copy had the same handle or address, and ended it with itself."""
        memory, data = weft.alloc(4), ints(1)
        with weft.Communicator() as comm:
            with comm.register(data) as region, comm.window(data) as window:
                each = (comm, comm.start, comm.create_op(print), region, window, weft.group())
                for one in (*each, comm.start.barrier(), memory):
                    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                        with self.assertRaisesRegex(TypeError, "neither copied nor sent"):
                            copied(one)
            comm.all_reduce(data)

    @unittest.skipIf(_library.library_path() != weft.SONAME, "the package carries its library")
    def test_a_library_that_does_not_fit_is_named(self):
        older = 'const char *weft_version(void) { return "0.0.9"; }'
        for source, text in (
            (None, r"libweft\.so\.0: .*No such file.*; name the folder of the libweft\.so\.0 that"),
            (older, r"/libweft\.so\.0 \(weft 0\.0\.9\) has no weft_\w+: it is older than the"),
            ("int x;", r"/libweft\.so\.0 is no library of weft"),
        ):
            with self.subTest(text), tempfile.TemporaryDirectory() as folder:
                if source is not None:
                    library = os.path.join(folder, weft.SONAME)
                    build = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-"]
                    subprocess.run([*build, "-o", library], input=source, text=True, check=True)
                done = subprocess.run(
                    [sys.executable, "-c", "import weft"],
                    env={**os.environ, "LD_LIBRARY_PATH": folder},
                    capture_output=True,
                    text=True,
                )
                self.assertRegex(done.stderr, f"ImportError: .*{text}")

    def test_what_a_thread_of_a_call_raises_is_raised(self):
        def wrong():
            raise KeyError("inside")

        with self.assertRaises(KeyError):
            _waiting.call(wrong)

    def test_an_exception_in_a_group_is_no_error_of_weft(self):
        script = """
import contextlib, weft
with weft.Communicator() as comm:
    for depth in (1, 2):
        with contextlib.suppress(KeyError), contextlib.ExitStack() as groups:
            for _ in range(depth):
                groups.enter_context(weft.group())
            started = comm.start.barrier()
            raise KeyError
        try:
            started.wait()
        except weft.StateError as error:
            print(error)
"""
        result = job(1, script)
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.stdout.count("the group was cancelled"), 2)

    def test_an_id_that_is_none(self):
        with self.assertRaisesRegex(ValueError, "id: 3 bytes"):
            weft.Communicator(2, 0, b"abc")
        with self.assertRaisesRegex(TypeError, "or none of them"):
            weft.Communicator(2, 0)
        with self.assertRaises(weft.WeftError):
            weft.Communicator(2, 0, bytes(128))

    def test_the_death_of_a_process_is_told_at_once(self):
        script = """
import os, signal, sys, time, weft
comm = weft.Communicator()
data = bytearray(8)
began = time.monotonic()
try:
    comm.all_reduce(data)  # the dead one is through it; the other one may not be
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.all_reduce(data)
except weft.PeerDead as error:
    assert error.peer == 1 and error.rank == 0, vars(error)
    assert error.host and error.peer_pid, vars(error)
    print("told after %.1f s" % (time.monotonic() - began), file=sys.stderr)
    print("yes" if time.monotonic() - began < 5 else "late", flush=True)
"""
        result = job(2, script)
        self.assertEqual(result.stdout, "yes\n", result.stderr)
        self.assertIn("rank 1 ended by signal SIGKILL", result.stderr)
        self.assertEqual(result.returncode, 128 + 9)


if __name__ == "__main__":
    main()
