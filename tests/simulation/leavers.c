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

/* In some steps those who stay make a call that needs the others, too, and ends when they have
 * left. A message of it could meet a receive from any rank of one that is several steps behind. */
bool leavers_pass_by(const mixed_t *m, uint64_t leavers, uint32_t number)
{
    bool all = m->step % 8 == 6 && !mixed_sends(number);
    uint32_t r = 0;
    while (r < m->size && !leavers_has(m, leavers, r)) {
        r++;
    }
    return r < m->size && !all;
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

/* What a rank has in a ring. */
typedef struct leavers_place {
    uint32_t next, before;
    uint64_t mine, theirs;
} leavers_place_t;

/* The first of them that failed. */
static weft_status_t leavers_first(weft_status_t sent, weft_status_t received, weft_status_t ended)
{
    return sent != WEFT_OK ? sent : received != WEFT_OK ? received : ended;
}

static weft_status_t leavers_send(const mixed_t *m, leavers_place_t *p, uint32_t source)
{
    weft_status_t started = weft_group_start();
    if (started != WEFT_OK) {
        return started;
    }
    weft_status_t sent = weft_send(&p->mine, 1, WEFT_UINT64, p->next, m->comm, NULL);
    weft_status_t received = weft_recv(&p->theirs, 1, WEFT_UINT64, source, m->comm, NULL);
    return leavers_first(sent, received, weft_group_end());
}

static weft_status_t leavers_put(const mixed_t *m, leavers_place_t *p)
{
    weft_window_t *window = NULL;
    weft_status_t started =
        weft_window_register_local(m->comm, &p->theirs, sizeof p->theirs, &window);
    if (started != WEFT_OK) {
        return started;
    }
    weft_status_t sent =
        weft_put_signal(&p->mine, 1, WEFT_UINT64, p->next, window, 0, m->comm, NULL);
    weft_status_t came = sent == WEFT_OK ? weft_wait_signal(p->before, 1, m->comm, NULL) : sent;
    return leavers_first(sent, came, weft_window_deregister(m->comm, window));
}

/* As a message, in odd steps from any rank, since only the one before sends to this one; or as a
 * put. */
static weft_status_t leavers_call(const mixed_t *m, leavers_place_t *p)
{
    return m->step % 2 != 0   ? leavers_send(m, p, WEFT_ANY_RANK)
           : m->step % 4 == 0 ? leavers_send(m, p, p->before)
                              : leavers_put(m, p);
}

weft_status_t leavers_ring(const mixed_t *m, uint64_t leavers)
{
    const struct timespec late = {.tv_sec = LATE_S};
    leavers_place_t p = {.next = leavers_pass(m, leavers, 1),
                         .before = leavers_pass(m, leavers, m->size - 1),
                         .mine = mixed_number(m->seat[m->rank], m->step, 0)};
    if (p.next == m->rank) {
        return WEFT_OK;
    }
    if (m->step % 4 != 0 && m->rank % 2 != 0) {
        nanosleep(&late, NULL);
    }
    uint64_t right = mixed_number(m->seat[p.before], m->step, 0);
    weft_status_t status = leavers_call(m, &p);
    if (status == WEFT_OK && p.theirs != right) {
        m->wrong(m->arg, "rank %u has %llu, not %llu", p.before, (unsigned long long)p.theirs,
                 (unsigned long long)right);
    }
    return status;
}
