# SPDX-License-Identifier: BSD-3-Clause
# ranks: 3
"""Messages between ranks."""

import torch
import torch.distributed as dist
from job import join, main

rank, size = join()
right, left = (rank + 1) % size, (rank - 1) % size


def case_a_ring_of_blocking_messages():
    tensor, received = torch.full((5,), float(rank)), torch.empty(5)
    if rank == 0:
        dist.send(tensor, right)
        dist.recv(received, left)
    else:
        dist.recv(received, left)
        dist.send(tensor, right)
    assert received.tolist() == [float(left)] * 5


def case_receives_posted_before_sends_do_not_block():
    for count in (4, 1 << 20):
        received = torch.empty(count)
        tensor = torch.full((count,), float(rank))
        requests = [dist.irecv(received, left), dist.isend(tensor, right)]
        for request in requests:
            request.wait()
            assert request.is_completed()
        assert received[0] == left and received[-1] == left


def case_batches_of_messages():
    received = [torch.empty(3), torch.empty(3)]
    operations = [
        dist.P2POp(dist.irecv, received[0], left), dist.P2POp(dist.irecv, received[1], right),
        dist.P2POp(dist.isend, torch.full((3,), float(rank)), right),
        dist.P2POp(dist.isend, torch.full((3,), float(rank)), left),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert received[0][0] == left and received[1][0] == right


def case_a_receive_from_anybody_tells_from_whom():
    if rank == 0:
        heard = {dist.recv(torch.empty(2)) for _ in range(1, size)}
        assert heard == set(range(1, size))
        dist.barrier()
        tensor = torch.empty(2)
        work = dist.irecv(tensor)
        work.wait()
        assert work._source_rank() == tensor[0].item() == 1
    else:
        dist.send(torch.full((2,), float(rank)), 0)
        dist.barrier()
        if rank == 1:
            dist.send(torch.full((2,), 1.0), 0)


def case_messages_of_tensors_with_gaps():
    tensor = torch.zeros(4, 2)
    if rank == 0:
        tensor[:, 1] = 7
        dist.send(tensor[:, 1], 1)
    elif rank == 1:
        dist.recv(tensor[:, 1], 0)
        assert tensor[:, 1].tolist() == [7.0] * 4 and tensor[:, 0].sum() == 0


def case_messages_and_collectives_do_not_wait_for_each_other():
    received = torch.empty(3)
    request = dist.irecv(received, left)
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    dist.send(torch.full((3,), float(rank)), right)
    request.wait()
    assert received[0] == left and tensor[0] == size


main(globals())
