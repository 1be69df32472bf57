/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether messages between two ranks go into the slots of a port through the caches or past them
 * (decision 160). As with collectives (nt_tuner.h) the answer depends on how far apart two cores
 * are, which changes while a job runs. So now and then a message goes the other way, and what
 * counts is how long both copies of it took: the sender's into the slot, and the receiver's out of
 * it, who reports that in the control words of the FIFO. Who owns the communicator makes all
 * calls. */
#ifndef WEFT_EXEC_STORE_TRIALS_H
#define WEFT_EXEC_STORE_TRIALS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum weft_store {
    WEFT_STORE_CACHED = 0,
    WEFT_STORE_PAST = 1, /* past the caches */
} weft_store_t;

#define WEFT_STORE_WAYS 2

/* Both ranks time the messages with these numbers. */
#define WEFT_STORE_TRIAL_EVERY 32u

static inline bool weft_store_is_timed(uint64_t number)
{
    return number % WEFT_STORE_TRIAL_EVERY == WEFT_STORE_TRIAL_EVERY - 1;
}

/* What the receiver reports of a message. 0: nothing yet. */
static inline uint64_t weft_store_report(uint64_t number, uint64_t took_ns)
{
    return number << 32 | (took_ns < UINT32_MAX ? took_ns : UINT32_MAX);
}

typedef struct weft_store_trials {
    uint64_t best[WEFT_STORE_WAYS]; /* shortest trial of each way in this period, ns */
    uint64_t number;                /* of the last trial */
    uint64_t took;                  /* by its sender, ns; 0: no report of it is awaited */
    uint8_t turns;                  /* timed messages of this period, also of another length */
    uint8_t tried;                  /* trials of this period */
    uint8_t length;                 /* of its trials, as a power of two */
    uint8_t way;                    /* weft_store_t of the last trial */
    uint8_t chosen;                 /* weft_store_t of messages that are not timed */
} weft_store_trials_t;

/* Tells how a timed message goes, of `bytes` bytes. `report`: the receiver's last one. `trials`:
 * all zero in the beginning. */
weft_store_t weft_store_trials_begin(weft_store_trials_t *trials, uint64_t number, uint64_t bytes,
                                     uint64_t report);
/* Takes note how long its sender copied it. */
void weft_store_trials_end(weft_store_trials_t *trials, uint64_t number, uint64_t took_ns);

#endif
