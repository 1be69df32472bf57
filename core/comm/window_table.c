/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The windows of a communicator on this rank. */
#include "core/comm/window_table.h"

#include <errno.h>
#include <inttypes.h>

#include "core/base/error.h"
#include "core/base/log.h"

/* Returns the table entry of the window; WEFT_LANES_WINDOWS: it is not in the table. */
static uint32_t window_find(const weft_window_table_t *table, const weft_window_t *window)
{
    uint32_t number = 0;
    while (number < WEFT_LANES_WINDOWS && table->own[number] != window) {
        number++;
    }
    return number;
}

/* Puts name windows by a number that never comes again. */
static weft_status_t window_check_names(const weft_window_table_t *table, const char *call)
{
    return table->registered < UINT32_MAX
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, 0,
                           "%s: the communicator has had %" PRIu32 " windows, the most there can "
                           "be; make another one with weft_comm_dup",
                           call, table->registered);
}

bool weft_window_table_is_full(const weft_window_table_t *table)
{
    return window_find(table, NULL) == WEFT_LANES_WINDOWS || table->registered == UINT32_MAX;
}

weft_status_t weft_window_create(const weft_comm_identity_t *self, weft_window_table_t *table,
                                 void *memory, uint64_t bytes, weft_window_t **window_p)
{
    uint32_t number = window_find(table, NULL);
    if (number == WEFT_LANES_WINDOWS) {
        return weft_fail(WEFT_ERR_RESOURCE, 0,
                         "weft_window_register: the communicator has %u windows, the most there "
                         "can be; end one with weft_window_deregister",
                         (unsigned)WEFT_LANES_WINDOWS);
    }
    weft_status_t status = window_check_names(table, "weft_window_register");
    if (status != WEFT_OK) {
        return status;
    }
    weft_windows_t *shared = &table->shared;
    if (shared->reach == NULL) {
        shared->reach = weft_os_alloc(self->nranks * sizeof *shared->reach, 0);
    }
    weft_window_t *window = weft_os_alloc(sizeof *window, 0);
    if (shared->reach == NULL || window == NULL) {
        weft_os_free(window);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_window_register");
    }
    *window = (weft_window_t){
        .number = number, .name = ++table->registered, .memory = memory, .bytes = bytes};
    table->own[number] = *window_p = window;
    return WEFT_OK;
}

weft_status_t weft_window_create_local(weft_window_table_t *table, void *memory, uint64_t bytes,
                                       weft_window_t **window_p)
{
    weft_status_t status = window_check_names(table, "weft_window_register_local");
    if (status != WEFT_OK) {
        return status;
    }
    weft_window_t *window = weft_os_alloc(sizeof *window, 0);
    if (window == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_window_register_local");
    }
    *window = (weft_window_t){.number = WEFT_LANES_WINDOWS,
                              .name = ++table->registered,
                              .next = table->local,
                              .local = true,
                              .memory = memory,
                              .bytes = bytes};
    table->local = *window_p = window;
    return WEFT_OK;
}

bool weft_window_is_known(const weft_window_table_t *table, const weft_window_t *window)
{
    const weft_window_t *local = table->local;
    while (local != NULL && local != window) {
        local = local->next;
    }
    return local != NULL || (window != NULL && window_find(table, window) < WEFT_LANES_WINDOWS);
}

const weft_window_t *weft_window_numbered(const weft_window_table_t *table, uint32_t name)
{
    const weft_window_t *local = table->local;
    for (uint32_t number = 0; number < WEFT_LANES_WINDOWS; number++) {
        if (table->own[number] != NULL && table->own[number]->name == name) {
            return table->own[number];
        }
    }
    while (local != NULL && local->name != name) {
        local = local->next;
    }
    return local;
}

static void window_close_import(const weft_comm_identity_t *self, weft_peer_windows_t *reach,
                                uint32_t number)
{
    const weft_family_kernel_t *kernel = &self->family->kernel;
    if (reach->import[number] != NULL) {
        weft_import_close(reach->import[number]);
    } else if (reach->theirs[number].bytes > 0) {
        kernel->share->unimport(kernel->instance, reach->theirs[number].base);
    }
    reach->import[number] = NULL;
    reach->theirs[number] = reach->mine[number] = (weft_lanes_window_t){.bytes = 0};
}

void weft_window_close_imports(const weft_comm_identity_t *self, weft_window_table_t *table,
                               uint32_t number)
{
    for (uint32_t r = 0; table->shared.reach != NULL && r < self->nranks; r++) {
        window_close_import(self, &table->shared.reach[r], number);
    }
}

static void window_free_local(weft_window_table_t *table, weft_window_t *window)
{
    weft_window_t **at = &table->local;
    while (*at != window) {
        at = &(*at)->next;
    }
    *at = window->next;
    weft_os_free(window);
}

static void window_free_read(const weft_comm_identity_t *self, weft_window_table_t *table,
                             weft_window_t *window)
{
    const weft_family_kernel_t *kernel = &self->family->kernel;
    weft_window_close_imports(self, table, window->number);
    weft_export_destroy(window->exported);
    if (window->on_device) {
        kernel->share->unexport_range(kernel->instance, window->memory);
    }
    table->own[window->number] = NULL;
    weft_os_free(window);
}

void weft_window_free(const weft_comm_identity_t *self, weft_window_table_t *table,
                      weft_window_t *window)
{
    if (window->local) {
        window_free_local(table, window);
    } else {
        window_free_read(self, table, window);
    }
}

void weft_window_table_fini(const weft_comm_identity_t *self, weft_window_table_t *table)
{
    for (uint32_t number = 0; number < WEFT_LANES_WINDOWS; number++) {
        if (table->own[number] != NULL) {
            weft_window_free(self, table, table->own[number]);
        }
    }
    while (table->local != NULL) {
        weft_window_free(self, table, table->local);
    }
    weft_puts_destroy(table->puts);
    if (table->shared.reach != NULL || table->shared.sent + table->shared.landed > 0) {
        weft_log(WEFT_LOG_DEBUG, "window",
                 "rank %" PRIu32 ": %" PRIu64 " messages by reference, %" PRIu64 " in landings",
                 self->rank, table->shared.sent, table->shared.landed);
    }
    if (table->shared.whole > 0) {
        weft_log(WEFT_LOG_DEBUG, "window",
                 "rank %" PRIu32 ": %" PRIu64 " runs of blocks were whole: no slots, no slices",
                 self->rank, table->shared.whole);
    }
    weft_os_free(table->shared.reach);
}
