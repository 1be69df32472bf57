/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of every kind: communicators, agreement, windows, memory and operators. */
#include "tests/support/mixed_parts.h"

#include <string.h>

/* An all-reduce in a child, which is destroyed. */
static weft_status_t use_child(mixed_t *m, weft_comm_t *child, uint32_t which, uint64_t count)
{
    weft_status_t status = mixed_all_reduce(m, count, WEFT_SUM, child, NULL);
    mixed_compare_sums(m, status, "all_reduce of a half", which, 2, count);
    if (weft_comm_destroy(child) != WEFT_OK) {
        m->wrong(m->arg, "weft_comm_destroy of a half");
    }
    return status;
}

weft_status_t mixed_do_split(mixed_t *m, uint64_t count)
{
    weft_comm_t *half = NULL;
    mixed_fill(m, count);
    weft_status_t status = weft_comm_split(m->comm, (int32_t)(m->rank % 2), 0, &half);
    return status == WEFT_OK ? use_child(m, half, m->rank % 2, count) : status;
}

/* The others go on meanwhile. Members wait for each other though the parent has failed, so who
 * shrinks after a failure must not be waited for here. */
weft_status_t mixed_do_create_group(mixed_t *m, uint64_t count)
{
    uint32_t members[MIXED_RANKS], size = 0;
    weft_comm_t *half = NULL;
    if (!m->nobody_dies) {
        return mixed_do_split(m, count);
    }
    if (m->rank % 2 != 0) {
        return WEFT_OK;
    }
    for (uint32_t r = 0; r < m->size; r += 2) {
        members[size++] = r;
    }
    mixed_fill(m, count);
    weft_status_t status = weft_comm_create_group(m->comm, members, size, m->step, &half);
    return status == WEFT_OK ? use_child(m, half, 0, count) : status;
}

weft_status_t mixed_do_window(mixed_t *m, uint64_t count)
{
    weft_window_t *window = NULL;
    mixed_fill(m, count);
    weft_status_t status = weft_window_register(m->comm, m->in, count * sizeof *m->in, &window);
    if (status != WEFT_OK) {
        return status;
    }
    status = mixed_all_reduce(m, count, WEFT_SUM, m->comm, NULL);
    mixed_compare_sums(m, status, "all_reduce in a window", 0, 1, count);
    weft_status_t ended = weft_window_deregister(m->comm, window);
    return status == WEFT_OK ? ended : status;
}

/* From memory that the ranks of a host read in place. */
weft_status_t mixed_do_memory(mixed_t *m, uint64_t count)
{
    void *memory = NULL;
    mixed_fill(m, count);
    m->arena = true;
    weft_status_t status = weft_mem_alloc(m->comm, count * sizeof *m->in, &memory);
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(memory, m->in, count * sizeof *m->in);
    status = weft_all_reduce(memory, m->out, count, WEFT_UINT64, WEFT_SUM, m->comm, NULL);
    mixed_compare_sums(m, status, "all_reduce of weft's memory", 0, 1, count);
    if (weft_mem_free(m->comm, memory) != WEFT_OK) {
        m->wrong(m->arg, "weft_mem_free");
    }
    return status;
}

static void add(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg)
{
    uint64_t *sums = inout;
    const uint64_t *numbers = in;
    (void)dtype;
    (void)arg;
    for (uint64_t i = 0; i < count; i++) {
        sums[i] += numbers[i];
    }
}

weft_status_t mixed_do_operator(mixed_t *m, uint64_t count)
{
    weft_op_t op = WEFT_SUM;
    mixed_fill(m, count);
    weft_status_t status = weft_op_create(m->comm, add, NULL, &op);
    if (m->on_device && status == WEFT_ERR_UNSUPPORTED) {
        return mixed_all_reduce(m, count, WEFT_SUM, m->comm, NULL);
    }
    if (status != WEFT_OK) {
        return status;
    }
    status = mixed_all_reduce(m, count, op, m->comm, NULL);
    mixed_compare_sums(m, status, "all_reduce with an operator", 0, 1, count);
    if (weft_op_destroy(m->comm, op) != WEFT_OK) {
        m->wrong(m->arg, "weft_op_destroy");
    }
    return status;
}
