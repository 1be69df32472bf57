/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See survivor.h. */
#include "tests/support/survivor.h"

weft_status_t survivor_meet(survivor_t *s)
{
    uint32_t rank = 0, least = SURVIVOR_NO_STEP;
    if (weft_comm_rank(s->comm, &rank) != WEFT_OK || rank != s->seat) {
        s->give_up(s->arg, "another number");
    }
    weft_status_t status =
        weft_all_reduce(&s->step, &least, 1, WEFT_UINT32, WEFT_MIN, s->comm, NULL);
    s->step = status == WEFT_OK ? least : s->step;
    return status;
}

static weft_status_t survivor_note(const survivor_t *s, const char *call, weft_status_t status)
{
    if (s->ended != NULL) {
        s->ended(s->arg, call, status);
    }
    return status;
}

void survivor_take(survivor_t *s, weft_comm_t *by)
{
    if (weft_comm_destroy(s->comm) != WEFT_OK) {
        s->give_up(s->arg, "weft_comm_destroy");
    }
    s->comm = by;
}

bool survivor_has_failed(const survivor_t *s)
{
    weft_error_t error = {.size = sizeof error};
    return weft_comm_error(s->comm, &error) != WEFT_OK || error.status != WEFT_OK;
}

/* Rank 0 of those that are here asks for newcomers. */
static uint32_t make_tickets(survivor_t *s, uint64_t here, weft_ticket_t *tickets)
{
    uint32_t missing[SURVIVOR_MOST], count = 0;
    for (uint32_t seat = 0; seat < s->size; seat++) {
        if ((here >> seat & 1) == 0) {
            missing[count++] = seat;
        }
    }
    if (weft_comm_ticket(s->comm, missing, count, tickets) != WEFT_OK) {
        return 0; /* it has failed meanwhile, and growing says so */
    }
    for (uint32_t i = 0; i < count; i++) {
        s->want(s->arg, missing[i], &tickets[i]);
    }
    return count;
}

/* One attempt to be whole again. */
static void grow(survivor_t *s)
{
    weft_ticket_t tickets[SURVIVOR_MOST];
    weft_comm_t *grown = NULL;
    uint64_t mine = UINT64_C(1) << s->seat, here = 0;
    uint32_t rank = 0, count = 0;
    weft_status_t status =
        survivor_note(s, "all_reduce of who is here",
                      weft_all_reduce(&mine, &here, 1, WEFT_UINT64, WEFT_BOR, s->comm, NULL));
    if (status != WEFT_OK || here == (UINT64_C(1) << s->size) - 1 ||
        weft_comm_rank(s->comm, &rank) != WEFT_OK) {
        return;
    }
    count = rank == 0 ? make_tickets(s, here, tickets) : 0;
    status = survivor_note(s, "weft_comm_grow",
                           weft_comm_grow(s->comm, count > 0 ? tickets : NULL, count, &grown));
    if (status == WEFT_OK) {
        survivor_take(s, grown);
    } else {
        s->failed_growths += rank == 0;
    }
}

void survivor_recover(survivor_t *s)
{
    uint32_t size = 0;
    while (size != s->size || survivor_has_failed(s)) {
        weft_comm_t *fewer = NULL;
        if (survivor_has_failed(s)) {
            if (s->fails != NULL) {
                s->fails(s->arg);
            }
            if (survivor_note(s, "weft_comm_shrink", weft_comm_shrink(s->comm, NULL, 0, &fewer)) !=
                WEFT_OK) {
                s->give_up(s->arg, "weft_comm_shrink");
            }
            survivor_take(s, fewer);
        }
        grow(s);
        if (weft_comm_size(s->comm, &size) != WEFT_OK) {
            s->give_up(s->arg, "weft_comm_size");
        }
    }
}
