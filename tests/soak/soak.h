/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A soak: a job that makes calls of all kinds for hours while its ranks are killed and replaced.
 * What a rank and the test tell each other is in memory that all processes share. */
#ifndef TESTS_SOAK_H
#define TESTS_SOAK_H

#include <stdatomic.h>

#include <weft/weft.h>

#include "tests/support/holdings.h"
#include "tests/support/survivor.h"

enum { SOAK_BUCKETS = 256, SOAK_WORDS = 600 };

typedef struct seat {
    weft_ticket_t ticket;
    _Atomic uint32_t wanted;    /* tickets so far: counts newcomers that the test starts */
    _Atomic uint64_t recovered; /* ns: when it last had a right result in a whole communicator */
    _Atomic uint64_t steps;
    _Atomic uint32_t wrong;
    char why[SOAK_WORDS]; /* of `wrong` */
} seat_t;

typedef struct board {
    weft_unique_id_t id;
    _Atomic uint32_t ready, stop;
    _Atomic uint32_t asked, answered; /* samples of rank 0, which lives through it all */
    holdings_t holdings;
    _Atomic uint32_t latency[SOAK_BUCKETS]; /* calls of 8 B of rank 0, by soak_bucket() */
    seat_t seats[SURVIVOR_MOST];
} board_t;

typedef struct soak {
    board_t *board;
    uint32_t nranks, seat;
    const char *net; /* a setting */
    unsigned seed;
    bool first; /* not a newcomer */
} soak_t;

/* A bucket holds the times that differ by less than a tenth. */
uint32_t soak_bucket(uint64_t ns);
/* The longest time of a bucket, in us. */
double soak_bucket_us(uint32_t bucket);

/* The life of a rank. Returns the exit code of its process. */
int soak_live(const soak_t *soak);

#endif
