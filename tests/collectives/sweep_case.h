/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One collective call on data whose right result is one bit pattern, checked on this rank. */
#ifndef WEFT_TESTS_SWEEP_CASE_H
#define WEFT_TESTS_SWEEP_CASE_H

#include <weft/weft.h>

typedef struct sweep_case {
    weft_coll_t coll; /* a fixed form */
    weft_dtype_t dtype;
    weft_op_t op; /* WEFT_OP_USER: user_op, which adds */
    uint64_t count;
    uint32_t root;
    int in_place;
    weft_op_t user_op;
} sweep_case_t;

enum { SWEEP_HOST = 0, SWEEP_DEVICE = 1, SWEEP_WHERE_THERE_IS_ONE = 2 };

/* Cases run on memory of the host, or of the kernel's device, from now on. */
void sweep_on_device(int where);
/* Buffers of the calling rank lie in two windows of `comm` until the second call, which frees them;
 * `elements`: room for so many of the largest type. 0: done. */
int sweep_windows_open(weft_comm_t *comm, uint64_t elements);
int sweep_windows_close(weft_comm_t *comm);
/* 1 and a line on stderr if the call fails or its result is wrong, else 0. */
int sweep_case_run(const sweep_case_t *c, weft_comm_t *comm, uint32_t rank, uint32_t n);
int sweep_reduces(weft_coll_t coll);
/* The fixed forms that move data. */
int sweep_is_fixed(weft_coll_t coll);
/* A user operator that adds, for int32, int64, float and double. */
void sweep_user_add(void *inout, const void *in, uint64_t count, weft_dtype_t dtype, void *arg);

#endif
