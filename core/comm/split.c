/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making communicators out of communicators: all ranks of the parent exchange colour and key over
 * the parent's own data path, as an operation like any other; the rest is arithmetic that comes to
 * the same result everywhere. */
#include "core/comm/split.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/comm/comm_create.h"
#include "core/comm/comm_exchange.h"
#include "core/comm/handle.h"

/* One rank's part of the exchange. */
typedef struct split_wish {
    int32_t color, key;
    uint32_t rank; /* in the parent */
    uint32_t reserved;
} split_wish_t;

_Static_assert(sizeof(split_wish_t) == 16, "the same bytes on all ranks");

/* Returns the id of the child, from the parent's id, the sequence number of the split and the
 * colour: equal on all members, and different for each split and colour. 0 means no
 * communicator. */
static uint64_t split_child_id(const weft_comm_state_t *parent, uint64_t sequence, int32_t color)
{
    uint64_t id =
        weft_split_mix(weft_split_mix(weft_child_base(parent->self.id, WEFT_CHILD_SPLIT), sequence),
                       (uint64_t)(uint32_t)color);
    return id != 0 ? id : 1;
}

static int split_compare_keys(const void *a, const void *b)
{
    const split_wish_t *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Moves the wishes of one colour to the front, in the order of the child's ranks. */
static uint32_t split_select_members(split_wish_t *all, uint32_t nranks, int32_t color)
{
    uint32_t members = 0;
    for (uint32_t r = 0; r < nranks; r++) {
        if (all[r].color == color) {
            all[members] = all[r];
            all[members++].rank = r;
        }
    }
    qsort(all, members, sizeof *all, split_compare_keys);
    return members;
}

void weft_split_report_absence(const weft_comm_setup_t *setup)
{
    weft_error_t error = *weft_error_record();
    const weft_boot_peer_t *me = &weft_boot_peers(setup->family->boot)[setup->family->rank];
    error.comm_id = setup->id;
    error.rank = error.peer = (int32_t)setup->rank;
    error.peer_pid = me->pid;
    snprintf(error.peer_host, sizeof error.peer_host, "%s", me->host_name);
    weft_health_report(setup->family->boot, setup->id, &error, NULL);
    weft_health_await(setup->family->boot); /* the program may end with the error of this call */
}

/* Lists the members in setup->family_rank, and finds this rank among them. */
static weft_status_t split_list(const weft_comm_state_t *parent, const split_wish_t *members,
                                weft_comm_setup_t *setup, uint32_t *family_rank)
{
    for (uint32_t r = 0; r < setup->nranks; r++) {
        setup->rank = members[r].rank == parent->self.rank ? r : setup->rank;
    }
    if (family_rank == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a communicator of %u ranks",
                         setup->nranks);
    }
    for (uint32_t r = 0; r < setup->nranks; r++) {
        family_rank[r] = parent->self.family_rank[members[r].rank];
    }
    setup->family_rank = family_rank;
    return WEFT_OK;
}

static weft_status_t split_make_child(weft_comm_state_t *parent, const split_wish_t *members,
                                      weft_comm_setup_t *setup, weft_comm_t **child_p)
{
    weft_comm_state_t *child = NULL;
    uint32_t *family_rank = weft_os_alloc(setup->nranks * sizeof *family_rank, 0);
    weft_status_t status = split_list(parent, members, setup, family_rank);
    if (status == WEFT_OK) {
        status = weft_comm_create_child(setup, &child);
    }
    weft_os_free(family_rank);
    if (status == WEFT_OK) {
        status = weft_handle_add(child, child_p);
        if (status != WEFT_OK) {
            weft_comm_free(child);
        }
    }
    if (status != WEFT_OK) {
        weft_split_report_absence(setup);
    }
    return status;
}

/* This rank has failed in the exchange, in which others may have got all wishes, its own too. They
 * would wait for it in a child whose members all live. */
static void split_tell_absence(weft_comm_state_t *parent, int32_t color)
{
    const weft_family_t *family = parent->self.family;
    const weft_boot_peer_t *me = &weft_boot_peers(family->boot)[family->rank];
    char why[sizeof(weft_error_t){0}.text];
    weft_error_t error;
    weft_failure_get(&parent->failure, &error);
    snprintf(why, sizeof why, "%s", error.text);
    snprintf(error.text, sizeof error.text,
             "host %s, pid %d did not come out of the split of its parent: %.300s", me->host_name,
             (int)me->pid, why);
    error.comm_id = split_child_id(parent, parent->queue.sequence, color);
    error.rank = error.peer = -1; /* numbers in the child are not known here */
    weft_health_report(family->boot, error.comm_id, &error, NULL);
    weft_health_await(family->boot); /* the program may end with the error of this call */
}

weft_status_t weft_split(weft_comm_state_t *parent, int32_t color, int32_t key,
                         weft_comm_t **child_p)
{
    weft_assert_owner(parent);
    split_wish_t mine = {.color = color, .key = key, .rank = parent->self.rank};
    split_wish_t *all = weft_os_alloc(parent->self.nranks * sizeof *all, 0);
    if (all == NULL) {
        weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot split %u ranks", parent->self.nranks);
        if (parent->self.nranks > 1) {
            weft_comm_fail(parent, -1); /* the others would wait */
            return weft_comm_failure(parent);
        }
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = weft_comm_exchange(parent, WEFT_ROOT_SPLIT, &mine, sizeof mine, all);
    if (status == WEFT_OK && color == WEFT_COLOR_NONE) {
        *child_p = NULL;
    } else if (status == WEFT_OK) {
        weft_comm_setup_t setup = {.family = parent->self.family,
                                   .id = split_child_id(parent, parent->queue.sequence, color),
                                   .nranks = split_select_members(all, parent->self.nranks, color)};
        status = split_make_child(parent, all, &setup, child_p);
    } else if (color != WEFT_COLOR_NONE && weft_comm_has_failed(parent)) {
        split_tell_absence(parent, color);
    }
    weft_os_free(all);
    return status;
}
