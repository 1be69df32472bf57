/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of puts, signals and waits. */
#include "core/comm/call.h"

weft_status_t weft_put_signal(const void *send, uint64_t count, weft_dtype_t dtype, uint32_t peer,
                              weft_window_t *window, uint64_t offset, weft_comm_t *comm,
                              const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .count = count,
                        .coll = WEFT_SEND_RECV,
                        .dtype = dtype,
                        .root = peer,
                        .sends = true,
                        .one_sided = WEFT_ONE_SIDED_PUT,
                        .offset = offset,
                        .window = window};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_signal(uint32_t peer, weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.coll = WEFT_SEND_RECV,
                        .dtype = WEFT_UINT8,
                        .root = peer,
                        .sends = true,
                        .one_sided = WEFT_ONE_SIDED_PUT};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_wait_signal(uint32_t peer, uint64_t count, weft_comm_t *comm,
                               const weft_call_t *call)
{
    weft_args_t args = {.count = count,
                        .coll = WEFT_SEND_RECV,
                        .dtype = WEFT_UINT8,
                        .root = peer,
                        .one_sided = WEFT_ONE_SIDED_WAIT};
    return weft_comm_call(comm, &args, call);
}
