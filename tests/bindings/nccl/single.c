/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank. */
#include "tests/bindings/nccl/single.h"

#include "bindings/nccl/functions.h"
#include "tests/support/unit.h"

ncclComm_t make_single(void)
{
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
    return comm;
}
