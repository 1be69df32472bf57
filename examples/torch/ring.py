# SPDX-License-Identifier: BSD-3-Clause
"""An all-reduce written by hand: blocks go round a ring, once to be summed and once to be spread.

    torchrun --standalone --nproc-per-node 4 examples/torch/ring.py [backend]
"""

import sys

import torch
import torch.distributed as dist


def pass_on(block, rank, size):
    """Sends a block to the right and returns the one that comes from the left."""
    received = torch.empty_like(block)
    operations = [dist.P2POp(dist.isend, block, (rank + 1) % size),
                  dist.P2POp(dist.irecv, received, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return received


def ring_all_reduce(tensor):
    rank, size = dist.get_rank(), dist.get_world_size()
    blocks = list(tensor.tensor_split(size))
    # After step s, block rank - s - 1 has the sum of s + 2 ranks here.
    for step in range(size - 1):
        out = (rank - step) % size
        blocks[(out - 1) % size] += match(pass_on(padded(blocks[out], tensor, size), rank, size),
                                          blocks[(out - 1) % size])
    for step in range(size - 1):
        out = (rank + 1 - step) % size
        blocks[(out - 1) % size].copy_(match(
            pass_on(padded(blocks[out], tensor, size), rank, size), blocks[(out - 1) % size]))


def padded(block, tensor, size):
    """Blocks differ by one element at most; messages are all as long as the longest."""
    longest = -(-tensor.numel() // size)
    message = torch.zeros(longest)
    message[:block.numel()] = block
    return message


def match(message, block):
    return message[:block.numel()]


def main():
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "weft")
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = torch.arange(10.0) * (rank + 1)
    expected = tensor.clone()
    dist.all_reduce(expected)
    ring_all_reduce(tensor)
    assert torch.equal(tensor, expected), (tensor, expected)
    print(f"rank {rank}: the ring of {size} gives what all_reduce gives", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
