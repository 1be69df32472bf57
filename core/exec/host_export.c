/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exports. An export lives until its owner has ended it and all imports are closed. */
#include "core/exec/host_export.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os_fork.h"

struct weft_export {
    weft_export_t *next;
    weft_export_name_t name;
    uint8_t *memory;
    uint64_t bytes;
    uint32_t nranks;
    uint32_t users; /* owner and imports; guarded by the lock */
    _Atomic uint32_t ended;
    weft_import_t *import; /* by rank */
};

static void export_forked(bool held);
static weft_os_process_mutex_t lock = {.forked = export_forked};
static weft_export_t *first;

/* All are the parent's. */
static void export_forked(bool held)
{
    first = held ? NULL : first;
}

static bool export_is_named(const weft_export_t *exported, const weft_export_name_t *name)
{
    return exported->name.comm_id == name->comm_id && exported->name.owner == name->owner &&
           exported->name.index == name->index;
}

static void export_release(weft_export_t *exported)
{
    weft_os_process_lock(&lock);
    bool last = --exported->users == 0;
    weft_os_process_unlock(&lock);
    if (last) {
        weft_os_free(exported->import);
        weft_os_free(exported);
    }
}

weft_status_t weft_export_create(const weft_export_name_t *name, void *memory, uint64_t bytes,
                                 uint32_t nranks, weft_export_t **export_p)
{
    weft_export_t *exported = weft_os_alloc(sizeof *exported, 0);
    weft_import_t *import = weft_os_alloc(nranks * sizeof *import, sizeof *import);
    if (exported == NULL || import == NULL) {
        weft_os_free(exported);
        weft_os_free(import);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot export memory to %u ranks", nranks);
    }
    exported->name = *name;
    exported->memory = memory;
    exported->bytes = bytes;
    exported->nranks = nranks;
    exported->users = 1;
    exported->import = import;
    for (uint32_t r = 0; r < nranks; r++) {
        import[r].exported = exported;
    }
    weft_os_process_lock(&lock);
    exported->next = first;
    first = exported;
    weft_os_process_unlock(&lock);
    *export_p = exported;
    return WEFT_OK;
}

void weft_export_destroy(weft_export_t *exported)
{
    if (exported == NULL) {
        return;
    }
    weft_os_process_lock(&lock);
    weft_export_t **at = &first;
    while (*at != exported) {
        at = &(*at)->next;
    }
    *at = exported->next;
    weft_os_process_unlock(&lock);
    /* Either a reader sees this, or this sees the reader. */
    atomic_store_explicit(&exported->ended, 1, memory_order_seq_cst);
    for (uint32_t r = 0, turns = 0; r < exported->nranks; r++) {
        while (atomic_load_explicit(&exported->import[r].reads, memory_order_seq_cst) != 0) {
            weft_os_give_way(&turns);
        }
    }
    export_release(exported);
}

weft_import_t *weft_import_open(const weft_export_name_t *name, uint32_t reader, uint8_t **memory_p,
                                uint64_t *bytes_p)
{
    weft_import_t *import = NULL;
    weft_os_process_lock(&lock);
    weft_export_t *exported = first;
    while (exported != NULL && !export_is_named(exported, name)) {
        exported = exported->next;
    }
    if (exported != NULL && reader < exported->nranks) {
        exported->users++;
        import = &exported->import[reader];
        *memory_p = exported->memory;
        *bytes_p = exported->bytes;
    }
    weft_os_process_unlock(&lock);
    return import;
}

void weft_import_close(weft_import_t *import)
{
    export_release(import->exported);
}

bool weft_import_begin_read(weft_import_t *import)
{
    atomic_store_explicit(&import->reads, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&import->exported->ended, memory_order_seq_cst) == 0) {
        return true;
    }
    weft_import_end_read(import);
    return false;
}
