# SPDX-License-Identifier: BSD-3-Clause
"""An all-reduce goes on while this rank computes. Needs numpy.

    python -m weft.run -n 2 examples/python/overlap.py
"""

import numpy
import weft

with weft.Communicator() as comm:
    gradients = numpy.full(1 << 20, comm.rank + 1, numpy.float32)
    request = comm.start.all_reduce(gradients, op=weft.AVG)
    matrix = numpy.random.default_rng(1).random((300, 300))
    product = matrix @ matrix
    request.wait()
    print(f"rank {comm.rank}: mean {gradients[0]}, trace {product.trace():.1f}")
