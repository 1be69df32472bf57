/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and ending windows. */
#include "core/comm/comm_window.h"

#include <errno.h>
#include <inttypes.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/engine.h"
#include "core/comm/comm_exchange.h"
#include "core/comm/puts.h"

typedef enum offer_kind { OFFER_NONE = 0, OFFER_HOST = 1, OFFER_DEVICE = 2 } offer_kind_t;

/* Tells the other ranks how to import a window. */
typedef struct window_offer {
    uint64_t bytes;
    uint32_t kind; /* offer_kind_t */
    uint32_t reserved;
    uint8_t device[WEFT_IPC_LOCATION_BYTES]; /* where the device is */
    uint8_t token[WEFT_IPC_HANDLE_BYTES];
} window_offer_t;

_Static_assert(sizeof(window_offer_t) == 200, "the same bytes on all ranks");

/* Exporting and importing ---------------------------------------------------------------------- */

static weft_export_name_t window_name(const weft_comm_state_t *state, uint32_t rank,
                                      uint32_t number)
{
    return (weft_export_name_t){.comm_id = state->self.id, .owner = rank, .index = number};
}

/* A device that runs plans must support windows. */
static bool window_knows_windows(const weft_comm_state_t *state)
{
    return state->self.family->kernel.lanes == NULL ||
           WEFT_HAS(state->self.family->kernel.lanes, weft_kernel_lanes_t, endpoint_windows);
}

/* Returns the kernel's extension for exporting and importing device memory; NULL: it cannot do
 * both. */
static const weft_kernel_ipc_t *window_share(const weft_comm_state_t *state)
{
    const weft_kernel_ipc_t *share = state->self.family->kernel.share;
    bool able = share != NULL && window_knows_windows(state) &&
                WEFT_HAS(share, weft_kernel_ipc_t, export_range) &&
                WEFT_HAS(share, weft_kernel_ipc_t, unexport_range);
    return able ? share : NULL;
}

static bool window_reads_host_memory(const weft_comm_state_t *state)
{
    return state->self.family->kernel.memory == NULL && window_knows_windows(state);
}

/* Logs that messages keep going through slots; the error record has the reason. */
static void window_note_slots(uint32_t number)
{
    weft_log(WEFT_LOG_DEBUG, "window", "window %" PRIu32 ": slots are used: %s", number,
             weft_error_record()->text);
}

/* Exports the window. Memory that cannot be exported is not read by others, which is no error. */
static void window_export(weft_comm_state_t *state, weft_window_t *window, window_offer_t *offer)
{
    const weft_kernel_ipc_t *share = window_share(state);
    weft_export_name_t name = window_name(state, state->self.rank, window->number);
    weft_status_t status = WEFT_OK;
    *offer = (window_offer_t){.bytes = window->bytes};
    if (window_reads_host_memory(state)) {
        status = weft_export_create(&name, window->memory, window->bytes, state->self.nranks,
                                    &window->exported);
        offer->kind = status == WEFT_OK ? OFFER_HOST : OFFER_NONE;
    } else if (share != NULL) {
        share->location(state->self.family->kernel.instance, offer->device);
        status = share->export_range(state->self.family->kernel.instance, window->memory,
                                     window->bytes, offer->token);
        window->on_device = status == WEFT_OK;
        offer->kind = status == WEFT_OK ? OFFER_DEVICE : OFFER_NONE;
    }
    if (status != WEFT_OK) {
        window_note_slots(window->number);
    }
}

static void window_import_on_device(weft_comm_state_t *state, uint32_t number,
                                    const window_offer_t *offer, weft_lanes_window_t *theirs)
{
    const weft_kernel_ipc_t *share = window_share(state);
    void *memory = NULL;
    weft_status_t status = share->can_access(state->self.family->kernel.instance, offer->device);
    if (status == WEFT_OK) {
        status =
            share->import(state->self.family->kernel.instance, offer->token, offer->bytes, &memory);
    }
    if (status == WEFT_OK) {
        *theirs = (weft_lanes_window_t){.base = memory, .bytes = offer->bytes};
    } else {
        window_note_slots(number);
    }
}

/* Imports the window of another rank. True: messages of that rank may refer to it from now on. */
static bool window_import(weft_comm_state_t *state, uint32_t rank, uint32_t number,
                          const window_offer_t *offer)
{
    weft_peer_windows_t *reach = &state->windows.shared.reach[rank];
    weft_lanes_window_t *theirs = &reach->theirs[number];
    weft_export_name_t name = window_name(state, rank, number);
    if (offer->kind == OFFER_DEVICE && offer->bytes > 0 && window_share(state) != NULL) {
        window_import_on_device(state, number, offer, theirs);
    } else if (offer->kind == OFFER_HOST && window_reads_host_memory(state)) {
        reach->import[number] =
            weft_import_open(&name, state->self.rank, &theirs->base, &theirs->bytes);
    }
    return theirs->bytes > 0;
}

/* Tells the devices which windows there are. A device that cannot be told would use memory that
 * is gone. */
static void window_tell_devices(weft_comm_state_t *state)
{
    if (state->links != NULL && weft_links_announce_windows(state->links) != WEFT_OK) {
        weft_comm_fail(state, -1);
    }
}

/* Exchanges ------------------------------------------------------------------------------------ */

static size_t window_row_bytes(const weft_comm_state_t *state)
{
    return (state->self.nranks + 7) / 8;
}

/* Exchanges which windows each rank has imported: a row of bits per rank. */
static weft_status_t window_exchange_rows(weft_comm_state_t *state, weft_window_t *window,
                                          const uint8_t *mine, uint8_t *all)
{
    size_t row = window_row_bytes(state);
    uint32_t readers = 0;
    weft_status_t status =
        weft_comm_exchange(state, WEFT_ROOT_WINDOW_IMPORT + window->number, mine, row, all);
    for (uint32_t r = 0; status == WEFT_OK && r < state->self.nranks; r++) {
        if ((all[r * row + state->self.rank / 8] >> state->self.rank % 8 & 1) != 0) {
            state->windows.shared.reach[r].mine[window->number] =
                (weft_lanes_window_t){.base = window->memory, .bytes = window->bytes};
            readers++;
        }
    }
    if (status == WEFT_OK) {
        window_tell_devices(state);
        status = weft_comm_has_failed(state) ? weft_comm_failure(state) : status;
    }
    weft_log(WEFT_LOG_DEBUG, "window",
             "window %" PRIu32 " of %" PRIu64 " bytes: read by %" PRIu32 " of %" PRIu32 " ranks",
             window->number, window->bytes, readers, state->self.nranks - 1);
    return status;
}

static weft_status_t window_import_all(weft_comm_state_t *state, weft_window_t *window,
                                       const window_offer_t *offers)
{
    size_t row = window_row_bytes(state);
    uint8_t *rows = weft_os_alloc((state->self.nranks + 1) * row, 0);
    if (rows == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot compare windows");
    }
    for (uint32_t r = 0; r < state->self.nranks; r++) {
        if (r != state->self.rank && window_import(state, r, window->number, &offers[r])) {
            rows[r / 8] |= (uint8_t)(1u << r % 8);
        }
    }
    weft_status_t status = window_exchange_rows(state, window, rows, rows + row);
    weft_os_free(rows);
    return status;
}

static weft_status_t window_exchange_offers(weft_comm_state_t *state, weft_window_t *window)
{
    window_offer_t mine;
    window_offer_t *offers = weft_os_alloc(state->self.nranks * sizeof *offers, 0);
    if (offers == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot export a window");
    }
    window_export(state, window, &mine);
    weft_status_t status = weft_comm_exchange(state, WEFT_ROOT_WINDOW_EXPORT + window->number,
                                              &mine, sizeof mine, offers);
    if (status == WEFT_OK) {
        status = window_import_all(state, window, offers);
    }
    weft_os_free(offers);
    return status;
}

/* Calls are chosen anew when the first window comes and when the last one goes. */
static void window_choose_anew(weft_comm_state_t *state)
{
    const weft_cost_protocol_t *whole =
        &state->self.family->model.protocol[WEFT_KERNEL_PROTOCOL_WHOLE];
    bool some = false;
    for (uint32_t w = 0; w < WEFT_LANES_WINDOWS; w++) {
        some = some || state->windows.own[w] != NULL;
    }
    state->programs.whole = some && whole->edge.beta > 0 && whole->most > 0;
}

weft_status_t weft_comm_open_window(weft_comm_state_t *state, void *memory, uint64_t bytes,
                                    weft_window_t **window_p)
{
    weft_window_t *window = NULL;
    weft_assert_owner(state);
    weft_status_t status =
        weft_window_create(&state->self, &state->windows, memory, bytes, &window);
    if (status != WEFT_OK) {
        return status;
    }
    /* No call is under way while the windows change. */
    weft_engine_drive_all(state);
    if (state->self.nranks > 1) {
        status = window_exchange_offers(state, window);
    }
    if (status == WEFT_OK) {
        *window_p = window;
    } else {
        weft_window_free(&state->self, &state->windows, window);
    }
    window_choose_anew(state);
    return status;
}

/* Whoever puts is in a call with a deadline, and ends it or fails, or does not answer any more. */
static void window_wait_for_puts(weft_comm_state_t *state, const weft_window_t *window)
{
    while (!weft_comm_has_failed(state) && weft_puts_fill(state, window)) {
        if (!weft_engine_step(state)) {
            weft_waiter_nap(&state->waiter);
        }
    }
}

weft_status_t weft_comm_close_window(weft_comm_state_t *state, weft_window_t *window)
{
    weft_assert_owner(state);
    if (window->local) {
        window_wait_for_puts(state, window);
        weft_window_free(&state->self, &state->windows, window);
        return WEFT_OK;
    }
    uint8_t mine = 0, *all = weft_os_alloc(state->self.nranks, 0);
    weft_status_t status = WEFT_OK;
    weft_engine_drive_all(state);
    weft_window_close_imports(&state->self, &state->windows, window->number);
    window_tell_devices(state);
    if (all == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_window_deregister");
        if (state->self.nranks > 1 && !weft_comm_has_failed(state)) {
            weft_comm_fail(state, -1);
            status = weft_comm_failure(state);
        }
    } else if (state->self.nranks > 1 && !weft_comm_has_failed(state)) {
        status = weft_comm_exchange(state, WEFT_ROOT_WINDOW_END + window->number, &mine,
                                    sizeof mine, all);
    }
    weft_os_free(all);
    window_wait_for_puts(state, window);
    weft_window_free(&state->self, &state->windows, window);
    window_choose_anew(state);
    return status;
}
