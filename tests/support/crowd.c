/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as threads. */
#include "crowd.h"

#include <pthread.h>
#include <string.h>

#include "core/os/os.h"
#include "tests/support/unit.h"

void crowd_init(crowd_t *crowd, uint32_t count)
{
    memset(crowd, 0, sizeof *crowd);
    crowd->count = count;
    crowd->settings = (weft_boot_settings_t){.init_timeout = 20,
                                             .connect_timeout = 5,
                                             .heartbeat = 0.1,
                                             .late = 1,
                                             .unresponsive = 10,
                                             .interface = "=lo",
                                             .rendezvous = ""};
    for (uint32_t i = 0; i < count; i++) {
        crowd->members[i] = (member_t){.crowd = crowd, .rank = i, .nranks = count};
    }
    assert_int_equal(weft_boot_id_create(&crowd->settings, &crowd->id), WEFT_OK);
}

static void *member_run(void *arg)
{
    member_t *m = arg;
    crowd_t *crowd = m->crowd;
    uint64_t start = weft_os_clock_ns();
    m->status = weft_boot_join(&crowd->settings, m->nranks, &crowd->id, m->rank, &m->boot);
    if (m->status == WEFT_OK && crowd->act != NULL) {
        m->status = crowd->act(m);
    }
    m->took_ns = weft_os_clock_ns() - start;
    m->error = *weft_error_record();
    return NULL;
}

void crowd_run(crowd_t *crowd)
{
    pthread_t threads[64];
    for (uint32_t i = 0; i < crowd->count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, member_run, &crowd->members[i]), 0);
    }
    for (uint32_t i = 0; i < crowd->count; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint32_t i = 0; i < crowd->count; i++) {
        weft_boot_leave(crowd->members[i].boot);
        crowd->members[i].boot = NULL;
    }
}

void crowd_play(crowd_t *crowd, uint32_t count, weft_status_t (*act)(member_t *member))
{
    crowd_init(crowd, count);
    crowd->act = act;
    crowd_run(crowd);
}

static void member_assert(const member_t *m, bool ended_so)
{
    if (!ended_so) {
        fail_msg("rank %u of %u: %s: %s", m->rank, m->crowd->count, weft_status_name(m->status),
                 m->error.text);
    }
}

void crowd_assert_all(const crowd_t *crowd, weft_status_t status)
{
    for (uint32_t r = 0; r < crowd->count; r++) {
        member_assert(&crowd->members[r], crowd->members[r].status == status);
    }
}

void crowd_assert_named(const crowd_t *crowd, uint32_t culprit, weft_status_t status,
                        double seconds)
{
    for (uint32_t r = 0; r < crowd->count; r++) {
        const member_t *m = &crowd->members[r];
        member_assert(m, r == culprit ? m->status == WEFT_OK
                                      : m->status == status && m->error.peer == (int32_t)culprit);
        assert_true((double)m->took_ns < seconds * 1e9);
    }
}

void crowd_assert_all_fail(const crowd_t *crowd, weft_status_t status, const char *words,
                           double seconds)
{
    for (uint32_t r = 0; r < crowd->count; r++) {
        const member_t *m = &crowd->members[r];
        member_assert(m, m->status == status && strstr(m->error.text, words) != NULL);
        assert_true((double)m->took_ns < seconds * 1e9);
        assert_string_equal(m->error.text, crowd->members[0].error.text);
    }
}
