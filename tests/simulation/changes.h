/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames of control connections that are changed on their way, as a peer with an error or of
 * another build might send them: one field has another value of its kind, or a frame is lost, comes
 * twice, late, from another peer, in another order, in single bytes, or not to its end. */
#ifndef WEFT_SIMULATION_CHANGES_H
#define WEFT_SIMULATION_CHANGES_H

#include "descriptor.h"

typedef struct changes {
    uint32_t count, late; /* made so far; late: of these, nothing but time was changed */
    uint64_t parties;     /* processes that may be named for what comes of them; a bit for each */
    char what[160];       /* the last one */
} changes_t;

/* Draws which frames of the run are changed. Without it none is looked at. */
void changes_begin(uint32_t nranks);
void changes_end(void);
const changes_t *changes_made(void);
/* What the stream sends, as the program sent it. True: it is taken, and goes on by
 * stream_pass(). */
bool changes_take(object_t *from, const void *data, size_t bytes);
/* Nothing follows: what is left of a frame is passed. */
void changes_flush(object_t *from);
void changes_forget(object_t *from);

#endif
