/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as processes that the test can kill and stop. Parent and children share one page of
 * records. */
#ifndef WEFT_TESTS_FAMILY_H
#define WEFT_TESTS_FAMILY_H

#include <stdatomic.h>
#include <sys/types.h>

#include "core/base/error.h"
#include "core/boot/health.h"
#include "core/config/settings.h"

#define FAMILY_MOST 16
/* Seconds in which all join, or are named. Under TSan each step takes some ten times as long. */
#ifdef __SANITIZE_THREAD__
#define FAMILY_JOIN_S 8
#else
#define FAMILY_JOIN_S 3
#endif
#define FAMILY_COMM UINT64_C(0x1234567890) /* a communicator that is not the first */

typedef struct family_record {
    _Atomic uint32_t joined; /* 1 = health runs, 2 = the join failed with `error` */
    _Atomic uint32_t failed; /* `error` and `failed_at` are written */
    uint64_t failed_at;
    weft_error_t error;
    _Atomic uint32_t asked_by; /* 1 + rank */
    weft_signature_t asked;
    uint64_t asked_in;            /* communicator */
    _Atomic uint32_t answered_by; /* 1 + rank */
    weft_answer_t answer;
    uint64_t answered_in;
    _Atomic uint32_t gone[FAMILY_MOST]; /* that rank left the family */
    _Atomic uint32_t dead[FAMILY_MOST];
    _Atomic uint32_t reports;           /* failures of FAMILY_COMM */
    _Atomic uint32_t left[FAMILY_MOST]; /* 1 + operations when that rank left */
    _Atomic uint32_t heir;              /* process that inherited the descriptors */
    _Atomic uint32_t leave_us;          /* 1 + how long leaving took */
} family_record_t;

typedef struct family {
    uint32_t count;
    uint32_t quitter; /* joins, but does not start the health channel; FAMILY_MOST: nobody */
    weft_boot_settings_t settings;
    pid_t pids[FAMILY_MOST];
    struct family_shared *shared;
} family_t;

typedef struct family_shared {
    weft_unique_id_t id;
    _Atomic uint32_t has_id;
    _Atomic uint32_t order[FAMILY_MOST]; /* what the child shall do next */
    family_record_t records[FAMILY_MOST];
} family_shared_t;

/* Orders: leave at once; leave after a report, an abort … */
enum {
    FAMILY_WAIT,
    FAMILY_LEAVE,
    FAMILY_REPORT,
    FAMILY_ASK_LAST,
    FAMILY_EXIT,
    FAMILY_FORK,
    FAMILY_RUBBISH,
    FAMILY_REPORT_OTHER, /* the other communicator fails */
    FAMILY_LEAVE_OTHER,
    FAMILY_OPEN_OTHER,
    FAMILY_STOP,   /* leave, with nothing said before */
    FAMILY_GIVE_UP /* of the quitter: its join fails after all */
};

/* Starts `count` children that join; they wait for orders and end after at most 30 s. */
void family_start(family_t *family, uint32_t count, double heartbeat, double unresponsive);
/* The same, with a quitter. */
void family_start_quitting(family_t *family, uint32_t count, uint32_t quitter, double unresponsive);
/* Waits until `word` is not 0; false after `seconds`. */
int family_wait(_Atomic uint32_t *word, double seconds);
void family_order(family_t *family, uint32_t rank, uint32_t order);
/* Waits until all have joined. */
void family_wait_joined(family_t *family);
/* All but `culprit` fail, with it as the culprit. Returns the longest time in ns. */
uint64_t family_assert_verdict(family_t *family, uint32_t culprit, weft_status_t status,
                               uint64_t start);
/* All threads of the rank stand still when this returns: kill() only asks for that, and on a busy
 * machine the rank would still answer. */
void family_stop(family_t *family, uint32_t rank);
/* Lets all children leave, reaps them, frees. Returns how many did not exit with 0. */
uint32_t family_end(family_t *family);

#endif
