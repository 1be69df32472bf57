/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One measuring loop for all libraries of bench/compare. A side is what a library adds: how a rank
 * joins, and how each collective is called. */
#ifndef BESIDE_H
#define BESIDE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum beside_coll {
    BESIDE_ALL_REDUCE,
    BESIDE_BROADCAST,
    BESIDE_REDUCE,
    BESIDE_ALL_GATHER,
    BESIDE_REDUCE_SCATTER,
    BESIDE_ALL_TO_ALL,
    BESIDE_GATHER,
    BESIDE_SCATTER,
    BESIDE_BARRIER,
    BESIDE_PING_PONG, /* ranks 0 and 1: half of a round trip */
    BESIDE_STREAM /* ranks 0 and 1: BESIDE_BURST messages one way, then an answer; per message */
} beside_coll_t;

#define BESIDE_BURST 16 /* messages of a stream between two answers */

/* So many messages of a burst have a place of their own in the span; message i is i % spread. */
extern size_t beside_spread;

/* What a rank knows of its job. */
typedef struct beside_job {
    int rank;
    int ranks;
    bool window;      /* buffers that the library may read in place */
    bool launched;    /* by a launcher, not forked by this program */
    char folder[64];  /* a private folder of the job; empty if it was launched */
    void *shared;     /* BESIDE_SHARED_BYTES of memory that all forked ranks see; or NULL */
    int option_count; /* of the library, from the end of the command line */
    const char **options;
} beside_job_t;

#define BESIDE_SHARED_BYTES 4096

/* Functions return 0, or another number after they have said on stderr what failed. */
typedef struct beside_side {
    bool forks;                       /* the program starts its own ranks */
    bool moves_only;                  /* computes no results that could be checked */
    int (*before)(beside_job_t *job); /* in the parent, before it forks; may be NULL */
    int (*join)(beside_job_t *job);   /* sets rank and ranks where a launcher knows them */
    void *(*alloc)(beside_job_t *job, size_t bytes); /* NULL: page-aligned memory */
    /* `bytes` is the size of the larger of a rank's two buffers. */
    int (*call)(beside_coll_t coll, char *send, char *recv, size_t bytes);
    int (*barrier)(void);
    void (*from_root)(double *value); /* NULL where the program forks */
    void (*leave)(void);
} beside_side_t;

/* SIDE [-w] [-l] -n RANKS -c COLLECTIVE -s SPAN -b SECONDS SIZE:ITERATIONS… [-- OPTIONS…]
 * Prints "rank size microseconds" for every rank and size: the median of single iterations, and
 * of what has a root the mean. */
int beside_main(const beside_side_t *side, int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
