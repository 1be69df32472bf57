/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire protocol of PMI-1: one line of "name=value" words is asked, one is answered, over a
 * socket that the launcher has opened for this process alone. MPI libraries speak it too. */
#ifndef WEFT_BOOT_PMI_WIRE_H
#define WEFT_BOOT_PMI_WIRE_H

#include <weft/weft.h>

#include "core/boot/unique_id.h"

/* What MPI libraries take, and more than any answer needs. */
#define WEFT_PMI_LINE 4096

typedef struct weft_pmi_wire {
    int fd;                       /* of the launcher; stays open */
    const char *launcher;         /* for messages */
    uint64_t until;               /* deadline for what waits for other ranks */
    uint64_t answer_ns;           /* for what the server answers by itself */
    char line[WEFT_PMI_LINE + 1]; /* the last answer, ends with NUL */
} weft_pmi_wire_t;

/* Begins the conversation. A server may allow this once per process. All calls here: ERR_PROTO if
 * the answer is wrong, and says what it was; ERR_LINK if the server closes; ERR_TIMEOUT. After a
 * failure the conversation cannot go on. */
weft_status_t weft_pmi_begin(weft_pmi_wire_t *wire);
/* Carries the id from rank 0 to all ranks of the job under a name that no earlier exchange had.
 * ERR_UNSUPPORTED: the server takes no value of that length. */
weft_status_t weft_pmi_carry(weft_pmi_wire_t *wire, const char *key, bool gives,
                             weft_unique_id_t *id);
/* Ends the conversation: the server closes, and takes the end of the process for a good one. Waits
 * for answer_ns at most. */
void weft_pmi_end(weft_pmi_wire_t *wire);

#endif
