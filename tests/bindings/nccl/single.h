/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator of one rank, for tests of calls in which no other one takes part. */
#ifndef TESTS_BINDINGS_NCCL_SINGLE_H
#define TESTS_BINDINGS_NCCL_SINGLE_H

#include "bindings/nccl/types.h"

/* The caller destroys it. Fails the test if it cannot be made. */
ncclComm_t make_single(void);

#endif
