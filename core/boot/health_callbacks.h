/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the health channel tells its family. The callbacks are made in the health thread and must
 * not block; they may call the functions of health.h. Ranks are ranks of the family. */
#ifndef WEFT_BOOT_HEALTH_CALLBACKS_H
#define WEFT_BOOT_HEALTH_CALLBACKS_H

#include "core/base/signature.h"
#include "core/boot/wire.h"

/* How long a rank that is away is waited for, if boot.unresponsive is 0. */
#define WEFT_HEALTH_AWAY_NS (10 * WEFT_NS_PER_S)

typedef struct weft_health_callbacks {
    /* A communicator failed elsewhere: a rank of it aborted, or reported an error. `error` is
     * complete: status, culprit, its host and pid, text. Ranks in it are ranks of the
     * communicator. `missing`: those that did not come, if that is why; else NULL. */
    void (*failed)(void *arg, uint64_t comm_id, const weft_error_t *error,
                   const weft_missing_t *missing);
    /* Rank error->peer was declared dead. This concerns communicator comm_id if it contains that
     * rank, or all that contain it if comm_id is 0. The text begins with weft_boot_rank_text(). */
    void (*died)(void *arg, uint64_t comm_id, const weft_error_t *error);
    /* Rank `from` waits for us in operation `theirs` of comm_id. */
    void (*asked)(void *arg, uint64_t comm_id, uint32_t from, const weft_signature_t *theirs);
    /* Rank `from`, which we asked in comm_id, has not come there, and tells where it is. */
    void (*answered)(void *arg, uint64_t comm_id, uint32_t from, const weft_answer_t *answer);
    /* Rank `from` said `word` in a consensus. */
    void (*told)(void *arg, uint64_t consensus, uint32_t from, const weft_word_t *word);
    /* Rank `rank` left communicator comm_id in order, after these operations. comm_id 0: it has
     * left the family. */
    void (*left)(void *arg, uint64_t comm_id, uint32_t rank, const weft_leave_t *leave);
} weft_health_callbacks_t;

#endif
