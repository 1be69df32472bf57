/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel that a communicator computes with, for tools that look inside. */
#include "core/comm/comm.h"

typedef struct kernel_answer {
    weft_kernel_t *kernel;
    const weft_kernel_ops_t *ops;
} kernel_answer_t;

static void copy_kernel(weft_comm_state_t *state, void *arg)
{
    *(kernel_answer_t *)arg =
        (kernel_answer_t){state->family->kernel.instance, state->family->kernel.ops};
}

const void *weft_comm_kernel(weft_comm_t *comm, const char *extension, weft_kernel_t **kernel_p)
{
    kernel_answer_t answer = {0};
    weft_status_t status = weft_handle_visit(comm, "weft_comm_kernel", copy_kernel, &answer);
    if (status != WEFT_OK || !WEFT_HAS(answer.ops, weft_kernel_ops_t, get_extension)) {
        return NULL;
    }
    *kernel_p = answer.kernel;
    return answer.ops->get_extension(answer.kernel, extension);
}
