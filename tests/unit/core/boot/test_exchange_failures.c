/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that fails for itself in an exchange: it has no memory for what it says, or cannot wait.
 * The others hear it, and from whom. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/boot/agreement.h"
#include "core/boot/exchange.h"
#include "core/os/os.h"
#include "tests/support/crowd.h"
#include "tests/support/unit.h"

/* The next allocation of this thread of at least so many bytes fails; 0: none does. */
static _Thread_local size_t lacks_bytes;
void *__real_weft_os_alloc(size_t bytes, size_t alignment);
void *__wrap_weft_os_alloc(size_t bytes, size_t alignment);

void *__wrap_weft_os_alloc(size_t bytes, size_t alignment)
{
    if (lacks_bytes > 0 && bytes >= lacks_bytes) {
        lacks_bytes = 0;
        return NULL;
    }
    return __real_weft_os_alloc(bytes, alignment);
}

/* The next wait of this thread fails. */
static _Thread_local bool cannot_wait;
int __real_ppoll(struct pollfd *entries, nfds_t count, const struct timespec *most,
                 const sigset_t *mask);
int __wrap_ppoll(struct pollfd *entries, nfds_t count, const struct timespec *most,
                 const sigset_t *mask);

int __wrap_ppoll(struct pollfd *entries, nfds_t count, const struct timespec *most,
                 const sigset_t *mask)
{
    if (cannot_wait) {
        cannot_wait = false;
        errno = ENOMEM;
        return -1;
    }
    return __real_ppoll(entries, count, most, mask);
}

static void keep_the_larger(void *data, const void *other)
{
    uint32_t *mine = data;
    const uint32_t *theirs = other;
    *mine = *theirs > *mine ? *theirs : *mine;
}

/* `arg` is the rank that lacks memory. */
static void lack(const member_t *m, size_t bytes)
{
    lacks_bytes = m->rank == *(const uint32_t *)m->crowd->arg ? bytes : 0;
}

static weft_status_t gather(member_t *m)
{
    uint8_t mine = 1, all[8];
    lack(m, 1);
    return weft_boot_all_gather(m->boot, "a test", &mine, 1, all);
}

static weft_status_t reduce(member_t *m)
{
    uint32_t mine = m->rank;
    lack(m, 1);
    return weft_boot_all_reduce(m->boot, "a test", &mine, sizeof mine, keep_the_larger);
}

/* Rank 5 has another text, so that the texts are compared: it takes memory for a whole one. */
static weft_status_t agree(member_t *m)
{
    const char *text = m->rank == 5 ? "a=1\nb=2\n" : "a=1\nb=1\n";
    lack(m, 4096);
    return weft_boot_agree(m->boot, text);
}

/* The others come later, so that this rank has to wait for them. */
static weft_status_t gather_late(member_t *m)
{
    uint8_t mine = 1, all[8];
    cannot_wait = m->rank == *(const uint32_t *)m->crowd->arg;
    if (!cannot_wait) {
        usleep(50000);
    }
    return weft_boot_all_gather(m->boot, "a test", &mine, 1, all);
}

static void one_fails(weft_status_t (*act)(member_t *), uint32_t rank, const char *why)
{
    char words[64];
    crowd_t crowd;
    crowd_init(&crowd, 7);
    crowd.act = act;
    crowd.arg = &rank;
    crowd_run(&crowd);
    snprintf(words, sizeof words, "rank %u of host ", rank);
    for (uint32_t r = 0; r < crowd.count; r++) {
        const member_t *m = &crowd.members[r];
        bool named = r == rank ? m->error.peer == -1 && strstr(m->error.text, words) == NULL
                               : m->error.peer == (int32_t)rank &&
                                     strstr(m->error.text, words) == m->error.text;
        if (m->status != WEFT_ERR_RESOURCE || strstr(m->error.text, why) == NULL || !named) {
            fail_msg("rank %u: %s, peer %d: %s", r, weft_status_name(m->status), m->error.peer,
                     m->error.text);
        }
    }
}

static void a_rank_without_memory_is_named_on_all(void **unused)
{
    (void)unused;
    for (uint32_t rank = 0; rank < 7; rank++) {
        one_fails(gather, rank, "out of memory");
        one_fails(reduce, rank, "out of memory");
        one_fails(agree, rank, "out of memory");
    }
}

static void a_rank_that_cannot_wait_is_named_on_all(void **unused)
{
    (void)unused;
    for (uint32_t rank = 0; rank < 3; rank++) { /* those that wait for children before they speak */
        one_fails(gather_late, rank, "cannot wait for");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_without_memory_is_named_on_all),
        cmocka_unit_test(a_rank_that_cannot_wait_is_named_on_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
