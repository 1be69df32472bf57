/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Those who stay, among themselves. */
#include "tests/simulation/leavers.h"

#include <time.h>

/* Links to those who left have been given up by then. */
#define LATE_S 3

static bool leavers_has(const mixed_t *m, uint64_t leavers, uint32_t rank)
{
    return (leavers >> m->seat[rank] & 1) != 0;
}

bool leavers_any(const mixed_t *m, uint64_t leavers)
{
    uint32_t r = 0;
    while (r < m->size && !leavers_has(m, leavers, r)) {
        r++;
    }
    return r < m->size;
}

/* The next of those who stay, `by` ranks at a time; this one, if no other does. */
static uint32_t leavers_pass(const mixed_t *m, uint64_t leavers, uint32_t by)
{
    uint32_t r = m->rank;
    do {
        r = (r + by) % m->size;
    } while (leavers_has(m, leavers, r));
    return r;
}

/* From any rank, in every other step: only the one before sends to this one. Half of the ranks are late then. */
static uint32_t leavers_source(const mixed_t *m, uint32_t before)
{
    const struct timespec late = {.tv_sec = LATE_S};
    if (m->step % 2 == 0) {
        return before;
    }
    if (m->rank % 2 != 0) {
        nanosleep(&late, NULL);
    }
    return WEFT_ANY_RANK;
}

weft_status_t leavers_ring(const mixed_t *m, uint64_t leavers)
{
    uint32_t next = leavers_pass(m, leavers, 1), before = leavers_pass(m, leavers, m->size - 1);
    uint64_t mine = mixed_number(m->seat[m->rank], m->step, 0), theirs = 0;
    uint64_t right = mixed_number(m->seat[before], m->step, 0);
    if (next == m->rank) {
        return WEFT_OK;
    }
    uint32_t source = leavers_source(m, before);
    weft_status_t started = weft_group_start();
    if (started != WEFT_OK) {
        return started;
    }
    weft_status_t sent = weft_send(&mine, 1, WEFT_UINT64, next, m->comm, NULL);
    weft_status_t received = weft_recv(&theirs, 1, WEFT_UINT64, source, m->comm, NULL);
    weft_status_t ended = weft_group_end();
    if (ended == WEFT_OK && sent == WEFT_OK && received == WEFT_OK && theirs != right) {
        m->wrong(m->arg, "rank %u sent %llu, not %llu", before, (unsigned long long)theirs,
                 (unsigned long long)right);
    }
    return sent != WEFT_OK ? sent : received != WEFT_OK ? received : ended;
}
