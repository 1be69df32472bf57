# SPDX-License-Identifier: BSD-3-Clause
"""Every call of a communicator, on ranks that are threads."""

import array
import asyncio
import contextlib
import ctypes
import gc
import math
import select
import threading
import unittest
import weakref

import weft
from support import main, needs_numpy, numpy, ranks
from weft import Dtype

N = 3
CODES = {
    Dtype.INT8: "b",
    Dtype.UINT8: "B",
    Dtype.INT16: "h",
    Dtype.UINT16: "H",
    Dtype.INT32: "i",
    Dtype.UINT32: "I",
    Dtype.INT64: "q",
    Dtype.UINT64: "Q",
    Dtype.FP32: "f",
    Dtype.FP64: "d",
}


def ints(values):
    return array.array("q", values)


def zeros(count):
    return array.array("q", [0] * count)


class Collectives(unittest.TestCase):
    def check(self, function, expected, nranks=N):
        """function(comm) returns an array on each rank; expected[rank] is what it must hold."""
        for rank, result in enumerate(ranks(nranks, function)):
            self.assertEqual(list(result), list(expected[rank]), f"rank {rank}")

    def test_all_reduce_of_every_type(self):
        for code in CODES.values():

            def run(comm, code=code):
                send, recv = array.array(code, [comm.rank + 1, 2]), array.array(code, [0, 0])
                comm.all_reduce(send, recv)
                return recv

            self.check(run, [[6, 6]] * N)

    def test_all_reduce_in_place_with_every_operator(self):
        values = [1, 2, 4]
        expected = {
            weft.SUM: 7,
            weft.PROD: 8,
            weft.MIN: 1,
            weft.MAX: 4,
            weft.AVG: 2,
            weft.BAND: 0,
            weft.BOR: 7,
            weft.BXOR: 7,
        }
        for op, result in expected.items():

            def run(comm, op=op):
                data = ints([values[comm.rank]])
                comm.all_reduce(data, op=op)
                return data

            self.check(run, [[result]] * N)

    def test_a_factor_of_each_rank(self):
        def run(comm):
            data = array.array("d", [1.0, 2.0])
            factor = [0.5, array.array("d", [2.0]), 3][comm.rank]
            comm.all_reduce(data, op=weft.PREMULSUM, scalar=factor)
            return data

        self.check(run, [[5.5, 11.0]] * N)

    def test_reduce_gives_the_root_the_result(self):
        def run(comm):
            send, recv = ints([comm.rank, 1]), zeros(2)
            comm.reduce(send, recv if comm.rank == 1 else None, root=1)
            comm.reduce(send, root=1)
            return recv if comm.rank != 1 else list(recv) + list(send)

        self.check(run, [[0, 0], [3, 3, 3, 3], [0, 0]])

    def test_reduce_scatter(self):
        def run(comm):
            recv = zeros(2)
            comm.reduce_scatter(ints(range(2 * N)), recv)
            return recv

        self.check(run, [[0, 3], [6, 9], [12, 15]])

    def test_broadcast_of_one_array_and_of_two(self):
        def run(comm):
            data = ints([7, 8] if comm.rank == 2 else [0, 0])
            comm.broadcast(data, root=2)
            recv = zeros(2)
            comm.broadcast(data, recv, root=0)
            return list(data) + list(recv)

        self.check(run, [[7, 8, 7, 8]] * N)

    def test_all_gather_in_place_and_out_of_place(self):
        def run(comm):
            recv = zeros(2 * N)
            comm.all_gather(ints([comm.rank, -1]), recv)
            both = zeros(N)
            both[comm.rank] = comm.rank + 1
            comm.all_gather(memoryview(both)[comm.rank : comm.rank + 1], both)
            return list(recv) + list(both)

        self.check(run, [[0, -1, 1, -1, 2, -1, 1, 2, 3]] * N)

    def test_gather_and_scatter(self):
        def run(comm):
            is_root = comm.rank == 1
            everything = zeros(N) if is_root else None
            comm.gather(ints([comm.rank * 10]), everything, root=1)
            mine = zeros(1)
            comm.scatter(everything, mine, root=1)
            return mine if not is_root else list(everything) + list(mine)

        self.check(run, [[0], [0, 10, 20, 10], [20]])

    def test_all_to_all(self):
        def run(comm):
            send, recv = ints([10 * comm.rank + i for i in range(N)]), zeros(N)
            comm.all_to_all(send, recv)
            comm.all_to_all(send)
            return list(recv) + list(send)

        self.check(run, [[i, 10 + i, 20 + i] * 2 for i in range(N)])

    def test_vector_collectives(self):
        counts, displs = [1, 0, 2], [3, 0, 1]

        def run(comm):
            me = comm.rank
            gathered, there = zeros(4), zeros(3)
            mine = ints([me * 10 + i for i in range(counts[me])])
            comm.all_gather_v(mine, gathered, counts, displs)
            comm.all_gather_v(mine, there, counts)
            reduced = zeros(counts[me])
            comm.reduce_scatter_v(ints([1, 2, 3]), reduced, counts)
            return list(gathered) + list(there) + list(reduced)

        gathered = [0, 20, 21, 0] + [0, 20, 21]
        self.check(run, [gathered + [3], gathered, gathered + [6, 9]])

    def test_all_to_all_v(self):
        def run(comm):
            me = comm.rank
            send_counts, recv_counts = list(range(N)), [me] * N
            recv = zeros(N * me)
            comm.all_to_all_v(ints([me] * sum(send_counts)), recv, send_counts, recv_counts)
            return recv

        self.check(run, [[], [0, 1, 2], [0, 0, 1, 1, 2, 2]])

    def test_gather_v_and_scatter_v(self):
        counts = [2, 0, 1]

        def run(comm):
            me = comm.rank
            everything = zeros(3) if me == 0 else None
            vectors = counts if me == 0 else None
            comm.gather_v(ints([me + 1] * counts[me]), everything, vectors)
            back = zeros(counts[me])
            comm.scatter_v(everything, back, vectors)
            return back if me != 0 else list(everything) + list(back)

        self.check(run, [[1, 1, 3, 1, 1], [], [3]])

    def test_types_that_cannot_be_reduced_are_moved(self):
        def run(comm):
            data = (ctypes.c_char * 4)(*b"weft") if comm.rank == 0 else (ctypes.c_char * 4)()
            comm.broadcast(data)
            return bytes(data)

        self.check(run, [b"weft"] * N)

    def test_messages_and_their_sender(self):
        def run(comm):
            if comm.rank != 0:
                comm.send(ints([comm.rank * 100]), 0)
                return []
            data, seen = zeros(1), {}
            for _ in range(N - 1):
                source = comm.recv(data, weft.ANY_RANK)
                seen[source] = data[0]
            return sorted(seen.items())

        self.check(run, [[(1, 100), (2, 200)], [], []])

    def test_a_ring_of_messages_in_a_group(self):
        def run(comm):
            right, left = (comm.rank + 1) % N, (comm.rank - 1) % N
            data, total = zeros(1), ints([1])
            with weft.group():
                comm.send(ints([comm.rank]), right)
                comm.recv(data, left)
                comm.all_reduce(total)
            return [data[0], total[0]]

        self.check(run, [[2, N], [0, N], [1, N]])

    def test_an_exception_in_a_group_starts_nothing(self):
        def run(comm):
            data = ints([1])
            with self.assertRaises(ValueError):
                with weft.group():
                    comm.all_reduce(data)
                    comm.send(data, 99)
            comm.all_reduce(data)
            return data

        self.check(run, [[N]] * N)

    def test_an_exception_that_is_caught_in_a_group_starts_nothing_either(self):
        def run(comm):
            first, second = ints([comm.rank]), ints([comm.rank])
            text = "the group was cancelled by an exception inside it"
            with self.assertRaisesRegex(weft.StateError, text), weft.group():
                comm.all_reduce(first)
                with contextlib.suppress(KeyError), weft.group():
                    comm.all_reduce(second)
                    raise KeyError("inside")
            with weft.group():
                comm.all_reduce(first)
            return [first[0], second[0]]

        self.check(run, [[N, rank] for rank in range(N)])

    def test_a_request_of_a_group_that_fails_has_its_error(self):
        def run(comm):
            data = ints([1])
            with self.assertRaises(ValueError):
                with weft.group():
                    started = comm.start.all_reduce(data)
                    comm.all_reduce(array.array("f", [1]), op=weft.BAND)
            with self.assertRaisesRegex(ValueError, "operator band is for integers"):
                started.wait()
            comm.all_reduce(data)
            return data

        self.check(run, [[N]] * N)

    def test_requests_are_waited_for_tested_and_awaited(self):
        def run(comm):
            a, b, c = ints([1]), ints([2]), ints([3])
            requests = [comm.start.all_reduce(x) for x in (a, b, c)]
            requests[0].wait()
            while not requests[1].test():
                pass
            asyncio.run(asyncio.wait_for(_awaited(requests[2]), 20))
            self.assertTrue(all(each.is_complete for each in requests))
            requests[0].wait()
            return [a[0], b[0], c[0]]

        self.check(run, [[N, 2 * N, 3 * N]] * N)

    def test_a_request_in_a_group(self):
        def run(comm):
            data = zeros(1)
            with weft.group():
                sent = comm.start.send(ints([comm.rank]), (comm.rank + 1) % N)
                got = comm.start.recv(data, (comm.rank - 1) % N)
            sent.wait()
            got.wait()
            return [data[0], got.source]

        self.check(run, [[2, 2], [0, 0], [1, 1]])

    def test_a_wait_may_end_before_the_operation(self):
        def run(comm):
            data = zeros(1)
            if comm.rank == 0:
                request = comm.start.recv(data, 1)
                with self.assertRaises(TimeoutError):
                    request.wait(0.05)
                self.assertFalse(request.test())
                comm.send(data, 1)
                request.wait()
            elif comm.rank == 1:
                comm.recv(data, 0)
                comm.send(ints([5]), 0)
            return data

        self.check(run, [[5], [0], [0]])

    def test_arrays_are_kept_while_an_operation_is_under_way(self):
        def run(comm):
            request = comm.start.all_reduce(ints([1] * 100000))
            gc.collect()
            request.wait()
            return [len(comm._pending)]

        self.check(run, [[0]] * N)

    def test_requests_that_nobody_waits_for_do_not_pile_up(self):
        def run(comm):
            held, most, data = [], 0, ints([0])
            for lap in range(600):
                request = comm.start.all_reduce(ints([lap]))
                if lap % 2 == 0:
                    held.append(request)
                if lap == 500:
                    request = comm.start.all_reduce(data)
                comm.barrier()
                most = max(most, len(comm._pending))
            told = sum(each.is_complete for each in held)
            for each in held:
                each.wait()
            return [most < 200, told > 200, data[0]]

        self.check(run, [[True, True, 0]] * N)

    def test_a_wait_inside_its_group_is_refused_and_keeps_the_arrays(self):
        def run(comm):
            data = ints([1])
            with weft.group():
                request = comm.start.all_reduce(data)
                with self.assertRaisesRegex(weft.StateError, "begins with weft_group_end"):
                    request.wait()
                kept = len(comm._pending)
            request.wait()
            return [kept, data[0], len(comm._pending)]

        self.check(run, [[1, N, 0]] * N)

    def test_communicators_from_communicators(self):
        def run(comm):
            data = ints([1])
            with comm.dup() as copy:
                copy.all_reduce(data)
            half = comm.split(None if comm.rank == 0 else 1, key=-comm.rank)
            if half is None:
                return [data[0]]
            with half:
                half.all_reduce(data)
                return [data[0], half.rank, half.size]

        self.check(run, [[3], [6, 1, 2], [6, 0, 2]])

    def test_communicators_have_names(self):
        def run(comm):
            with comm.dup() as copy:
                first = copy.name.partition("/")[0]
                copy.name = "copied"
                said = f"in {copy.name}" in copy.explain(weft.Coll.ALL_REDUCE, 10)
                return [first, said, repr(copy).startswith("<weft.Communicator copied: rank ")]

        self.check(run, [["world", True, True]] * N)

    def test_a_limit_of_channels_comes_before_the_first_operation(self):
        def run(comm):
            with comm.dup() as copy:
                copy.set_channels(1)
                data = array.array("i", [comm.rank])
                copy.all_reduce(data)
                try:
                    copy.set_channels(2)
                except weft.WeftError as error:
                    return [data[0], error.status.name]
                return [data[0], "none"]

        self.check(run, [[sum(range(N)), "ERR_STATE"]] * N)

    def test_a_user_operator(self):
        def run(comm):
            def longer(inout, values):
                for i, value in enumerate(values):
                    if abs(value) > abs(inout[i]):
                        inout[i] = value

            op = comm.create_op(longer)
            data = ints([[1, -9], [5, 2], [-7, 3]][comm.rank])
            comm.all_reduce(data, op=op)
            op.destroy()
            return data

        self.check(run, [[-7, -9]] * N)

    def test_an_exception_of_a_user_operator_is_raised(self):
        def run(comm):
            def wrong(inout, values):
                raise ZeroDivisionError("in the operator")

            op = comm.create_op(wrong)
            try:
                comm.all_reduce(ints([1]), op=op)
            except ZeroDivisionError:
                return [True]
            return [False]

        found = ranks(N, run)
        self.assertIn([True], found)

    def test_an_operator_in_use_stays(self):
        def run(comm):
            def larger(inout, values):
                for i, value in enumerate(values):
                    inout[i] = max(inout[i], value)

            op, data = comm.create_op(larger), ints([comm.rank])
            refused = 0
            with weft.group():
                comm.all_reduce(data, op=op)
                try:
                    op.destroy()
                except weft.ArgumentError:
                    refused += 1
            if comm.rank == 0:
                # The others have not called: it is under way.
                started = ints([0])
                request = comm.start.all_reduce(started, op=op)
                try:
                    op.destroy()
                except weft.ArgumentError:
                    refused += 1
                # The function is there as long as weft may call it.
                op = None
                gc.collect()
                comm.send(data, 1)
                request.wait()
            else:
                if comm.rank == 1:
                    comm.recv(ints([0]), 0)
                started = ints([comm.rank])
                comm.all_reduce(started, op=op)
            return [refused, data[0], started[0]]

        self.check(run, [[2 if rank == 0 else 1, N - 1, N - 1] for rank in range(N)])

    def test_an_operator_that_ended_twice_leaves_the_next_one_alone(self):
        def run(comm):
            def smaller(inout, values):
                for i, value in enumerate(values):
                    inout[i] = min(inout[i], value)

            first = comm.create_op(smaller)
            first.destroy()
            second = comm.create_op(smaller)
            self.assertEqual(first.number, second.number)
            first.destroy()
            data = ints([comm.rank + 5])
            comm.all_reduce(data, op=second)
            second.destroy()
            return data

        self.check(run, [[5]] * N)

    def test_an_operator_is_its_communicators_and_not_another_one_of_its_number(self):
        def run(comm):
            data = ints([1])
            with comm.dup() as child:
                other, mine = child.create_op(print), comm.create_op(print)
                ended = comm.create_op(print)
                ended.destroy()
                self.assertEqual(other.number, mine.number)
                for op in (other, ended):
                    for call in (
                        lambda op=op: comm.all_reduce(data, op=op),
                        lambda op=op: comm.start.all_reduce(data, op=op),
                        lambda op=op: comm.explain(weft.Coll.ALL_REDUCE, 1, op=op),
                    ):
                        with self.assertRaisesRegex(ValueError, "^op: .* or is another communic"):
                            call()
            return data

        self.check(run, [[1]] * N)

    def test_any_number_of_threads_wait_for_one_request(self):
        def run(comm):
            seen = []
            for lap in range(50):
                data = array.array("q", [lap] * 20000)
                request = comm.start.all_reduce(data)

                def look(request=request, data=data, lap=lap):
                    if lap % 2 == 0:
                        request.wait()
                    while not request.test():
                        pass
                    seen.append(data[-1] == N * lap)

                threads = [threading.Thread(target=look) for _ in range(3)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            return [len(seen), all(seen)]

        self.check(run, [[150, True]] * N)

    def test_memory_windows_and_registrations(self):
        def run(comm):
            memory = weft.alloc(4, Dtype.INT64)
            view = memory.view().cast("q")
            view[:] = ints([comm.rank] * 4)
            with comm.window(view), comm.register(view):
                comm.all_reduce(view)
            del memory
            gc.collect()
            return list(view)

        self.check(run, [[3] * 4] * N)

    def test_puts_into_windows_of_both_kinds(self):
        for local in (False, True):

            def run(comm, local=local):
                right, left = (comm.rank + 1) % N, (comm.rank - 1) % N
                data, out = zeros(N), [ints([comm.rank, k]) for k in range(3)]
                with comm.window(data, local=local) as window:
                    comm.put_signal(out[0], right, window)
                    comm.wait_signal(left)
                    seen = [data[0] == left]
                    request = comm.start.wait_signal(left, 2)
                    requests = [
                        comm.start.put_signal(out[1], right, window, 8),
                        comm.start.signal(right, timeout=20),
                    ]
                    for each in (*requests, request):
                        each.wait()
                    return [*seen, data[1] == left, data[2] == 1]

            self.check(run, [[True] * 3] * N)

    def test_puts_and_waits_in_groups(self):
        def run(comm):
            data, mine = zeros(N), ints([comm.rank + 1])
            window = comm.window(data, local=True)
            with weft.group():
                for rank in range(N):
                    comm.put_signal(mine, rank, window, comm.rank * mine.itemsize)
                    comm.wait_signal(rank, timeout=20)
            window.deregister()
            with self.assertRaisesRegex(ValueError, "window: it has been deregistered"):
                comm.put_signal(mine, 0, window)
            return data

        self.check(run, [[1, 2, 3]] * N)

    def test_a_communicator_keeps_the_arrays_of_its_windows(self):
        def run(comm):
            memory, ended = weft.alloc(1 << 20), weft.alloc(1 << 20)
            kept, gone = weakref.ref(memory), weakref.ref(ended)
            comm.window(memory, local=True)  # nobody holds it, and peers may put into it
            with comm.window(ended, local=True) as window, comm.dup() as other:
                with self.assertRaisesRegex(weft.ArgumentError, "no window of this communicator"):
                    other.put_signal(bytes(1), 0, window)
            del memory, ended
            gc.collect()
            return [kept() is not None, gone() is None]

        self.check(run, [[True] * 2] * N)

    def test_a_window_of_a_communicator_that_has_ended_is_none_of_another(self):
        """… which may have one at the same address."""
        def run(comm):
            with comm.dup() as child:
                old = child.window(weft.alloc(8), local=True)
            new = [comm.window(weft.alloc(8), local=True) for _ in range(9)]
            for use in (comm, comm.start):
                with self.assertRaisesRegex(weft.StateError, "communicator has been destroyed"):
                    use.put_signal(bytes(1), comm.rank, old)
            old.deregister()
            return [len(new)]

        self.check(run, [[9]] * N)

    def test_a_window_whose_end_fails_has_ended(self):
        all_have_windows = threading.Barrier(N)

        def run(comm):
            memory = weft.alloc(1 << 10)
            gone = weakref.ref(memory)
            window = comm.window(memory)
            del memory
            all_have_windows.wait()
            with self.assertRaises(weft.Mismatch):
                window.deregister() if comm.rank == 0 else comm.barrier()
            window.deregister()  # on the others their part only, and on rank 0 nothing
            gc.collect()
            return [gone() is None]

        self.check(run, [[True]] * N)

    def test_calls_are_explained_and_predicted(self):
        def run(comm):
            text = comm.explain(weft.Coll.ALL_REDUCE, 1000)
            seconds = comm.predict(weft.Coll.ALL_REDUCE, 1000, Dtype.FP32)
            return [text.startswith("all_reduce by algo-"), 0 < seconds < 1]

        self.check(run, [[True, True]] * N)

    def test_a_group_of_members_only(self):
        def run(comm):
            if comm.rank == 1:
                return []
            data = ints([comm.rank])
            with comm.create_group([2, 0], tag=5) as pair:
                pair.all_reduce(data)
                return [data[0], pair.rank]

        self.check(run, [[2, 1], [], [2, 0]])

    def test_ranks_go_on_after_a_failure(self):
        def run(comm):
            if comm.rank == 1:
                comm.revoke()
            try:
                comm.barrier()
                left = "barrier"
            except weft.WeftError as error:
                left = type(error).__name__
            data = ints([comm.rank])
            with comm.shrink() as rest:
                rest.all_reduce(data)
                return [left, rest.size, data[0], comm.agree(6 if comm.rank == 0 else 3)]

        self.check(run, [["Revoked", 3, 3, 2]] * N)

    def test_a_newcomer_takes_a_number(self):
        # The ticket goes over the communicator of all.
        def run(comm):
            members = comm.split(None if comm.rank == N - 1 else 0)
            made = members.tickets(ranks=[0]) if comm.rank == 0 else []
            ticket = bytearray(made[0] if made else bytes(160))
            comm.broadcast(ticket, root=0)
            if members is None:
                grown = weft.Communicator.join(bytes(ticket), name="newcomer")
                self.assertEqual(grown.name, "newcomer")
            else:
                grown = members.grow(made)
            with grown:
                data = ints([1 << grown.rank])
                grown.all_reduce(data)
                told = select.select([grown.error_fd()], [], [], 0)[0]
                return [grown.rank, grown.size, data[0], told]

        self.check(run, [[(rank + 1) % N, N, (1 << N) - 1, []] for rank in range(N)])

    def test_what_is_no_id_and_no_ticket_is_named(self):
        for value, kind, words in (
            ("text", TypeError, "str has no bytes, expected"),
            (3, TypeError, "int has no bytes, expected"),
            (b"short", ValueError, "5 bytes are no"),
        ):
            with self.assertRaisesRegex(kind, f"^id: {words} (a )?unique id"):
                weft.Communicator(1, 0, value)
            with self.assertRaisesRegex(kind, f"^ticket: {words} (a )?ticket"):
                weft.Communicator.join(value)

    def test_a_message_to_oneself_waits_for_nothing(self):
        """Nobody else could end it: it is refused at once, unless its other half is under way."""
        with weft.Communicator() as comm:
            for call in (comm.send, comm.recv):
                with self.assertRaisesRegex(weft.ArgumentError, "to itself would wait for ever"):
                    call(ints([1]), 0)
            with self.assertRaisesRegex(weft.ArgumentError, "no other rank to receive from"):
                comm.recv(ints([1]))
            data = ints([0])
            request = comm.start.recv(data, 0)
            comm.send(ints([7]), 0)
            request.wait()
            sent = comm.start.send(ints([8]), 0)
            self.assertEqual((data[0], comm.recv(data)), (7, 0))
            sent.wait()
            self.assertEqual(data[0], 8)

    def test_one_rank_alone(self):
        with weft.Communicator() as comm:
            data = ints([4])
            comm.all_reduce(data)
            comm.barrier()
            self.assertEqual((data[0], comm.rank, comm.size), (4, 0, 1))
            self.assertEqual(weft.Launcher().name, "none")


async def _awaited(request):
    await request


class Arguments(unittest.TestCase):
    """Wrong arguments are found before anything is sent: the communicator is as before."""

    @classmethod
    def setUpClass(cls):
        cls.comm = weft.Communicator()

    @classmethod
    def tearDownClass(cls):
        cls.comm.destroy()

    def test_the_argument_and_the_reason_are_named(self):
        comm = self.comm
        one, two = ints([1]), ints([1, 2])
        floats, chars = array.array("d", [1]), (ctypes.c_char * 1)()
        cases = [
            (ValueError, "recv: 2 elements, but send has 1", lambda: comm.all_reduce(one, two)),
            (TypeError, "recv: elements of type d, but send", lambda: comm.all_reduce(one, floats)),
            (TypeError, "send: .*moved, but not reduced", lambda: comm.all_reduce(chars)),
            (ValueError, "send: the array is read-only", lambda: comm.all_reduce(b"x")),
            (ValueError, "root: 3 is no rank of 1", lambda: comm.broadcast(one, root=3)),
            (ValueError, "peer: -1 is no rank", lambda: comm.send(one, -1)),
            (TypeError, "recv: the root needs an array", lambda: comm.gather(one)),
            (ValueError, "recv_counts: 2 numbers", lambda: comm.all_gather_v(one, two, [1, 1])),
            (ValueError, "recv: 1 elements, but .* 2", lambda: comm.all_gather_v(two, one, [2])),
            (ValueError, "send: 1 elements, but", lambda: comm.all_gather_v(one, two, [2])),
            (ValueError, "send_counts: -1 is neg", lambda: comm.scatter_v(one, one, [-1])),
            (ValueError, "send: 2 elements, but recv has 1", lambda: comm.reduce_scatter(two, one)),
            (TypeError, "recv_counts: 2 is no list", lambda: comm.all_gather_v(one, two, 2)),
            (TypeError, "send_counts: 1.0 is not a", lambda: comm.scatter_v(one, one, [1.0])),
            (ValueError, "timeout: -1 s", lambda: comm.barrier(timeout=-1)),
            (TypeError, "timeout: '1' is no", lambda: comm.barrier(timeout="1")),
            (TypeError, "timeout: '1' is no", lambda: comm.start.barrier().wait(timeout="1")),
            (ValueError, "timeout: nan is no", lambda: comm.barrier(timeout=math.nan)),
            (ValueError, "timeout: too many", lambda: comm.barrier(timeout=10**400)),
            (ValueError, "timeout: nan is no", lambda: comm.start.barrier().wait(math.nan)),
            (TypeError, "unknown option 'tiemout'", lambda: comm.barrier(tiemout=1)),
            (TypeError, "stream: str is no handle", lambda: comm.all_reduce(one, stream="x")),
            (weft.Unsupported, "stream", lambda: comm.all_reduce(one, stream=0)),
        ]
        for kind, text, call in cases:
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                call()
        comm.all_reduce(one)

    def test_a_factor_is_an_element_of_the_type(self):
        def scale(code, scalar):
            data = array.array(code, [3])
            self.comm.all_reduce(data, op=weft.PREMULSUM, scalar=scalar)
            return data[0]

        for code, scalar, text in (
            ("b", 128, "128 is beyond the range of INT8"),
            ("B", -1, "-1 is beyond the range of UINT8"),
            ("q", 2**63, f"{2**63} is beyond the range of INT64"),
            ("f", 1e300, r"1e\+300 is beyond the range of FP32"),
            ("d", 10**400, "1000* is beyond the range of FP64"),
            ("f", array.array("i", [2]), "1 elements of type i, but the call takes one of FP32"),
            ("i", array.array("i", [2, 2]), "2 elements of type i, but the call takes one of INT3"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, f"^scalar: {text}"):
                scale(code, scalar)
        with self.assertRaisesRegex(TypeError, "^scalar: 2.0 is no element of INT64"):
            scale("q", 2.0)
        with self.assertRaisesRegex(TypeError, "^scalar: this call does not reduce"):
            self.comm.broadcast(ints([1]), scalar=2)
        self.assertEqual([scale("b", 42), scale("B", 85), scale("d", 2)], [126, 255, 6.0])
        self.assertEqual(scale("f", float("inf")), float("inf"))

    def test_an_array_on_a_device_is_refused(self):
        class Cuda:
            __cuda_array_interface__ = {
                "shape": (1,),
                "typestr": "<f4",
                "data": (4096, False),
                "version": 3,
            }

        with self.assertRaisesRegex(ValueError, "send: the array is on cuda:0, but .* host memory"):
            self.comm.all_reduce(Cuda())


@needs_numpy
class Numpy(unittest.TestCase):
    def test_all_reduce_of_every_type_that_numpy_has(self):
        kinds = [f"{k}{b}" for k in ("int", "uint") for b in (8, 16, 32, 64)]
        kinds += ["float16", "float32", "float64"]

        def run(comm):
            results = []
            for kind in kinds:
                data = numpy.full((2, 2), comm.rank + 1, kind)
                comm.all_reduce(data)
                results.append(data)
            return results

        for results in ranks(N, run):
            for kind, result in zip(kinds, results):
                self.assertEqual(result.dtype, kind)
                self.assertTrue((result == 6).all(), kind)

    def test_numbers_of_numpy_are_numbers(self):
        def run(comm):
            data = numpy.full(2, comm.rank + 1, numpy.float32)
            comm.all_reduce(data, op=weft.PREMULSUM, scalar=numpy.float32(2))
            comm.all_reduce(data, op=weft.PREMULSUM, scalar=numpy.float64(0.5))
            comm.broadcast(data, root=numpy.int64(1))
            return data.tolist()

        self.assertEqual(ranks(N, run), [[18.0, 18.0]] * N)

    def test_counts_of_a_small_type_do_not_wrap_around(self):
        small = numpy.array([100, 100], numpy.int8)

        def run(comm):
            recv = numpy.zeros(150, numpy.uint8)
            for places in (None, small):
                with self.assertRaisesRegex(ValueError, "^recv: 150 elements, .* end at 200"):
                    comm.all_gather_v(recv[:100].copy(), recv, small, places)

        ranks(2, run)

    def test_rows_are_gathered_into_a_matrix(self):
        def run(comm):
            matrix = numpy.zeros((N, 4))
            matrix[comm.rank] = comm.rank
            comm.all_gather(matrix[comm.rank], matrix)
            return matrix

        for matrix in ranks(N, run):
            self.assertTrue((matrix == numpy.arange(N)[:, None]).all())

    def test_memory_of_weft_is_an_array(self):
        def run(comm):
            data = numpy.asarray(weft.alloc(10, Dtype.FP32)).reshape(2, 5)
            gc.collect()
            data += comm.rank
            comm.all_reduce(data)
            return data

        for data in ranks(N, run):
            self.assertTrue((data == 3).all())

    def test_a_user_operator_gets_arrays(self):
        def run(comm):
            op = comm.create_op(lambda inout, values: numpy.hypot(inout, values, out=inout))
            data = numpy.array([3.0, 4.0])
            comm.all_reduce(data, op=op)
            return data

        for data in ranks(2, run):
            self.assertTrue(numpy.allclose(data, numpy.sqrt(2) * numpy.array([3, 4])))

    def test_a_user_operator_gets_arrays_of_types_that_numpy_lacks(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("no ml_dtypes")

        def run(comm):
            op = comm.create_op(lambda inout, values: numpy.add(inout, values, out=inout))
            sums = []
            for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
                data = numpy.array([1.5, 2.0]).astype(getattr(ml_dtypes, name))
                comm.all_reduce(data, op=op)
                sums += data.astype(float).tolist()
            return sums

        self.assertEqual(ranks(2, run), [[3.0, 4.0] * 3] * 2)


if __name__ == "__main__":
    main()
