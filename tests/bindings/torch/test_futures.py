# SPDX-License-Identifier: BSD-3-Clause
# ranks: 2
"""Asynchronous calls in numbers, from several threads, and a program that ends in the middle."""

import os
import subprocess
import sys
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from job import join, main

CALLS = 5000

if "--leaves" in sys.argv:
    # Ends with an operation under way that can never complete.
    rank, size = join()
    if rank == 0:
        work = dist.all_reduce(torch.ones(8), async_op=True)
        work.get_future()
        print("leaves", time.time(), flush=True)
        sys.exit(0)
    time.sleep(3)
    os._exit(0)


class LastWords:
    """Takes its time when the interpreter ends, so that other threads find it at its end."""

    def __del__(self):
        time.sleep(1)


if "--calls-back" in sys.argv:
    # Ends while a callback is in torch's C++.
    rank, size = join()
    last = LastWords()
    began = threading.Event()

    def block(_):
        began.set()
        try:
            dist.HashStore().wait(["never"], timedelta(seconds=0.3))
        finally:
            print("called back", flush=True)

    if rank == 1:
        time.sleep(0.3)
    work = dist.all_reduce(torch.ones(8), async_op=True)
    if rank == 1:
        work.wait()
        time.sleep(2)
    else:
        future = work.get_future().then(block)
        assert began.wait(20)
    sys.exit(0)

rank, size = join()


def case_ten_thousand_futures_from_two_threads():
    groups = [dist.new_group(), dist.new_group()]
    told = [0, 0]
    lock = threading.Lock()
    failures = []

    def run(which):
        def count(future):
            # In this thread, or in that of notices: one at a time.
            right = int(future.value()[0][0] == size)
            with lock:
                told[which] += right

        try:
            futures = []
            for _ in range(CALLS):
                work = dist.all_reduce(torch.ones(1), group=groups[which], async_op=True)
                futures.append(work.get_future().then(count))
            torch.futures.wait_all(futures)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert told == [CALLS, CALLS], told


def within(future, seconds=20):
    """What the future holds; waiting for ever would say less than a failure."""
    until = time.monotonic() + seconds
    while not future.done():
        assert time.monotonic() < until, f"not done after {seconds} s"
        time.sleep(0.01)
    return future.value()


def late(which):
    """Has the other ranks wait for this one, so that their futures are ended by the package."""
    if rank == which:
        time.sleep(0.1)


def case_callbacks_that_wait_for_futures():
    """Three deep: each starts an operation and waits for it, as DDP's hook PowerSGD does."""
    def deeper(depth):
        late(depth % size)
        future = dist.all_reduce(torch.ones(4), async_op=True).get_future()
        return future.then(lambda done: done.value()[0].sum().item() + (
            deeper(depth - 1).wait() if depth > 0 else 0))

    for depth in (1, 2, 3):
        assert within(deeper(depth)) == 4.0 * size * (depth + 1)


def case_a_callback_that_waits_for_an_earlier_and_a_later_future():
    """All three may be complete before the first is ended."""
    late(0)
    futures = [dist.all_reduce(torch.full((4,), float(i)), async_op=True).get_future()
               for i in range(3)]
    chained = futures[1].then(lambda _: sum(futures[i].wait()[0][0].item() for i in (0, 2)))
    assert within(chained) == 2.0 * size


def case_two_threads_in_one_group():
    """Messages in one thread, collectives in the other: neither waits for the other's lock."""
    group = dist.new_group()
    failures = []

    def messages():
        try:
            for _ in range(200):
                tensor = torch.full((100,), float(rank))
                if rank == 0:
                    dist.send(tensor, 1, group=group)
                    dist.recv(tensor, 1, group=group)
                else:
                    received = torch.empty(100)
                    dist.recv(received, 0, group=group)
                    dist.send(tensor, 0, group=group)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=messages)
    thread.start()
    for _ in range(200):
        tensor = torch.ones(50)
        dist.all_reduce(tensor, group=group)
        assert tensor[0] == size
    thread.join()
    assert not failures, failures


def case_works_that_nobody_keeps_complete():
    for _ in range(100):
        dist.all_reduce(torch.ones(1000), async_op=True)
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    assert tensor[0] == size


def started(mode):
    """This script as a job of its own."""
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    command = [sys.executable, f"{here}/launch.py", f"{here}/test_futures.py", mode]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def case_a_program_that_ends_while_a_callback_runs():
    if rank == 0:
        with started("--calls-back") as job:
            said = job.stdout.read()
        assert said == "called back\n" and job.returncode == 0, (said, job.returncode)
    dist.barrier()


def case_a_program_that_ends_with_operations_under_way():
    if rank == 0:
        with started("--leaves") as job:
            words = job.stdout.readline().split()
            assert words[0] == "leaves", words
            job.stdout.read()
        # The other rank sleeps for three seconds; rank 0 must not make it longer.
        took = time.time() - float(words[1])
        assert took < 8, took
    dist.barrier()


main(globals())
