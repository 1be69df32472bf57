/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A crowd of ranks as threads of the test, for code that needs several ranks but no processes. */
#ifndef WEFT_TESTS_CROWD_H
#define WEFT_TESTS_CROWD_H

#include "core/base/error.h"
#include "core/boot/join.h"
#include "core/boot/id_create.h"

typedef struct crowd crowd_t;

typedef struct member {
    crowd_t *crowd;
    uint32_t rank;        /* that it says it is */
    uint32_t nranks;      /* that it says there are */
    weft_boot_t *boot;    /* of a successful join; the crowd leaves it at the end */
    weft_status_t status; /* of the join or of `act` */
    weft_error_t error;   /* the thread's record at the end */
    uint64_t took_ns;
} member_t;

struct crowd {
    uint32_t count;
    weft_unique_id_t id;
    weft_boot_settings_t settings;
    weft_status_t (*act)(member_t *member); /* after the join; may be NULL */
    void *arg;
    member_t members[64];
};

/* `count` ranks that agree, an id, and settings with a deadline fit for tests. */
void crowd_init(crowd_t *crowd, uint32_t count);
/* Joins and acts, each rank on a thread; returns when all are done and have left. */
void crowd_run(crowd_t *crowd);
/* Both, for ranks that act so. */
void crowd_play(crowd_t *crowd, uint32_t count, weft_status_t (*act)(member_t *member));
/* All members have ended so; else it tells which has not, and why. */
void crowd_assert_all(const crowd_t *crowd, weft_status_t status);
/* All members but `culprit`, which is well, have failed so, each within `seconds`, and name it. */
void crowd_assert_named(const crowd_t *crowd, uint32_t culprit, weft_status_t status,
                        double seconds);
/* All members have failed the same way, each within `seconds`, with `words` in the one text. */
void crowd_assert_all_fail(const crowd_t *crowd, weft_status_t status, const char *words,
                           double seconds);

#endif
