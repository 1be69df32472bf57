# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two ranks: blocking, immediate, in a batch, and from whoever comes first.

    torchrun --standalone --nproc-per-node 2 examples/torch/messages.py [backend]
"""

import sys

import torch
import torch.distributed as dist


def main():
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "weft")
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size

    tensor = torch.zeros(1)
    if rank == 0:
        tensor += 1
        dist.send(tensor, dst=1)
    elif rank == 1:
        dist.recv(tensor, src=0)
        print(f"blocking: rank 1 has {tensor.item()}", flush=True)

    # Both at once: neither waits for the other.
    received = torch.zeros(1)
    requests = [dist.irecv(received, src=left), dist.isend(torch.tensor([float(rank)]), dst=right)]
    for request in requests:
        request.wait()
    print(f"immediate: rank {rank} has {received.item()} of rank {left}", flush=True)

    operations = [dist.P2POp(dist.isend, torch.tensor([10.0 * rank]), right),
                  dist.P2POp(dist.irecv, received, left)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    print(f"batch: rank {rank} has {received.item()} of rank {left}", flush=True)

    if rank == 0:
        for _ in range(1, size):
            source = dist.recv(received)
            print(f"anybody: rank 0 has {received.item()} of rank {source}", flush=True)
    else:
        dist.send(torch.tensor([100.0 + rank]), dst=0)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
