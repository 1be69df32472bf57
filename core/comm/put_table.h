/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts and signals of a communicator: those that this rank sends, those that come, and the waits
 * for signals. All zero but for the queues until something is called, or a peer asks. */
#ifndef WEFT_COMM_PUT_TABLE_H
#define WEFT_COMM_PUT_TABLE_H

#include "core/comm/p2p_queues.h"

/* What comes from one rank. */
typedef struct weft_put_source {
    weft_p2p_queue_t queue; /* receives of puts, which this rank calls itself: one at a time */
    weft_request_t arrival; /* that one */
    uint64_t signals;       /* that have come */
    uint64_t taken;         /* by waits that are done */
    uint32_t awaits;        /* number of the window that its next put waits for, or 0 */
    bool listens;           /* this rank looks for puts from it */
    bool asked;             /* and has asked it, by now connected, to look for those of this rank */
    uint32_t asks;          /* before that */
    uint64_t ask_at;        /* when the next one of these is */
} weft_put_source_t;

typedef struct weft_puts {
    weft_p2p_t p2p;          /* puts to each rank, and waits for its signals */
    weft_put_source_t *from; /* per rank */
    uint32_t *listening;     /* ranks that are looked at */
    uint32_t nlistening;
    uint32_t heard; /* askers so far: weft_window_table_t.askers */
} weft_puts_t;

/* ERR_RESOURCE. */
weft_status_t weft_puts_create(uint32_t nranks, weft_puts_t **puts_p);
/* NULL is allowed. */
void weft_puts_destroy(weft_puts_t *puts);
/* Bytes of one rank. */
size_t weft_puts_bytes_per_rank(void);

/* Looks for puts of a rank from now on. */
static inline void weft_puts_listen_to(weft_puts_t *puts, uint32_t rank)
{
    if (!puts->from[rank].listens) {
        puts->from[rank].listens = true;
        puts->listening[puts->nlistening++] = rank;
    }
}

#endif
