/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations that this rank called, for questions of other ranks. One entry holds a run of
 * equal calls: a rank that runs ahead by thousands of them still knows what it called. */
#ifndef WEFT_COMM_HISTORY_H
#define WEFT_COMM_HISTORY_H

#include "core/base/signature.h"
#include "core/os/os.h"

#define WEFT_HISTORY 256 /* runs of equal calls that are kept, power of two */
/* Calls of a run at most, so that differences of sequence numbers in 32 bits tell which is
 * earlier. */
#define WEFT_HISTORY_RUN (UINT32_C(1) << 30)

typedef struct weft_history {
    weft_os_mutex_t lock;  /* guards runs and run; the owner reads them without it */
    _Atomic uint32_t last; /* sequence number of the last operation begun */
    uint32_t runs;         /* runs of equal calls so far */
    weft_signature_t run[WEFT_HISTORY];
} weft_history_t;

/* Notes that an operation begins. Takes the lock only where a run begins. Thread: the owner of the
 * communicator. */
void weft_history_put(weft_history_t *history, const weft_signature_t *signature);

/* Finds the signature of operation `sequence`. False: it has not begun, or is forgotten. Thread:
 * any. */
bool weft_history_get(weft_history_t *history, uint32_t sequence, weft_signature_t *signature);

/* The same for the operation that began last. Thread: any. */
bool weft_history_get_last(weft_history_t *history, weft_signature_t *signature);

/* Finds the last run of equal calls, or its end where it is longer than WEFT_HISTORY_RUN; its
 * length is 0 before the first operation. Thread: any. */
void weft_history_get_run(weft_history_t *history, weft_signature_run_t *run);

#endif
