/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A timed run of a plan over bounded queues: when each MOVE starts and ends, and for which message
 * it waits. All MOVEs cost the same, so the picture shows order and dependences rather than a
 * machine. Queues and times are its own; the control flow of a plan is the verifier's
 * (core/plan/cursor.h). */
#ifndef WEFT_TOOLS_TIMELINE_H
#define WEFT_TOOLS_TIMELINE_H

#include "core/plan/plan_ir.h"

#define TIMELINE_NONE UINT32_MAX

typedef struct timeline_event {
    uint32_t rank, lane, pc, iteration;
    uint32_t chunk;           /* number that tells chunks of the job apart; see timeline_chunks() */
    uint32_t chunks;          /* that the MOVE packs, of which that is the first; else 1 */
    uint32_t member, members; /* place in its PAR; 1 member outside of one */
    uint32_t sends, receives; /* ports used */
    uint32_t combines;        /* sources, if more than one */
    uint32_t final;
    double start, end;
} timeline_event_t;

typedef struct timeline_message {
    uint32_t from, to; /* events */
    uint32_t channel;
} timeline_message_t;

typedef struct timeline_input {
    weft_plan_t *const *plans;
    uint32_t nranks;
    uint32_t slots, slices;
    uint64_t limit; /* of slices and barriers; reaching it ends the run */
    bool record;    /* false: only whether it ends, and when */
} timeline_input_t;

typedef struct timeline {
    timeline_event_t *events;
    timeline_message_t *messages;
    uint32_t nevents, nmessages;
    uint64_t steps;
    double end;
    bool stuck; /* not all lanes came to their end */
} timeline_t;

/* One pass. ERR_RESOURCE; ERR_PLAN if a port has no other end; ERR_ARGUMENT past the limit. */
weft_status_t timeline_run(const timeline_input_t *input, timeline_t *timeline);
void timeline_free(timeline_t *timeline);

/* Chunks of the job that `timeline_event_t.chunk` tells apart. */
uint32_t timeline_chunks(const weft_plan_t *plan);

/* Smallest depth of the queues at which the plan ends, up to `most`; 0 if none, or too long to say.
 * */
uint32_t timeline_least_slots(timeline_input_t input, uint32_t most);

#endif
