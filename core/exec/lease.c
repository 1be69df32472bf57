/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leases. What is lent lives until its owner has ended it and nobody has a lease. */
#include "core/exec/lease.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"

struct weft_lent {
    weft_lent_t *next;
    weft_lent_name_t name;
    uint8_t *memory;
    uint64_t bytes;
    uint32_t nranks;
    uint32_t users; /* owner and leases; guarded by the lock */
    _Atomic uint32_t ended;
    weft_lease_t *lease; /* by rank */
};

static weft_os_mutex_t lock;
static weft_lent_t *first;

static bool is_named(const weft_lent_t *lent, const weft_lent_name_t *name)
{
    return lent->name.comm_id == name->comm_id && lent->name.owner == name->owner &&
           lent->name.index == name->index;
}

static void drop(weft_lent_t *lent)
{
    weft_os_lock(&lock);
    bool last = --lent->users == 0;
    weft_os_unlock(&lock);
    if (last) {
        weft_os_free(lent->lease);
        weft_os_free(lent);
    }
}

weft_status_t weft_lend(const weft_lent_name_t *name, void *memory, uint64_t bytes, uint32_t nranks,
                        weft_lent_t **lent_p)
{
    weft_lent_t *lent = weft_os_alloc(sizeof *lent, 0);
    weft_lease_t *lease = weft_os_alloc(nranks * sizeof *lease, sizeof *lease);
    if (lent == NULL || lease == NULL) {
        weft_os_free(lent);
        weft_os_free(lease);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot lend memory to %u ranks", nranks);
    }
    lent->name = *name;
    lent->memory = memory;
    lent->bytes = bytes;
    lent->nranks = nranks;
    lent->users = 1;
    lent->lease = lease;
    for (uint32_t r = 0; r < nranks; r++) {
        lease[r].lent = lent;
    }
    weft_os_lock(&lock);
    lent->next = first;
    first = lent;
    weft_os_unlock(&lock);
    *lent_p = lent;
    return WEFT_OK;
}

void weft_lend_end(weft_lent_t *lent)
{
    if (lent == NULL) {
        return;
    }
    weft_os_lock(&lock);
    weft_lent_t **place = &first;
    while (*place != lent) {
        place = &(*place)->next;
    }
    *place = lent->next;
    weft_os_unlock(&lock);
    /* Either a reader sees this, or this sees the reader. */
    atomic_store_explicit(&lent->ended, 1, memory_order_seq_cst);
    for (uint32_t r = 0; r < lent->nranks; r++) {
        while (atomic_load_explicit(&lent->lease[r].reads, memory_order_seq_cst) != 0) {
            weft_os_yield();
        }
    }
    drop(lent);
}

weft_lease_t *weft_lease_take(const weft_lent_name_t *name, uint32_t reader, uint8_t **memory_p,
                              uint64_t *bytes_p)
{
    weft_lease_t *lease = NULL;
    weft_os_lock(&lock);
    weft_lent_t *lent = first;
    while (lent != NULL && !is_named(lent, name)) {
        lent = lent->next;
    }
    if (lent != NULL && reader < lent->nranks) {
        lent->users++;
        lease = &lent->lease[reader];
        *memory_p = lent->memory;
        *bytes_p = lent->bytes;
    }
    weft_os_unlock(&lock);
    return lease;
}

void weft_lease_give(weft_lease_t *lease)
{
    drop(lease->lent);
}

bool weft_lease_enter(weft_lease_t *lease)
{
    atomic_store_explicit(&lease->reads, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&lease->lent->ended, memory_order_seq_cst) == 0) {
        return true;
    }
    weft_lease_leave(lease);
    return false;
}
