/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making and ending windows. */
#include "core/comm/comm_window.h"

#include <errno.h>
#include <inttypes.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/engine.h"

typedef enum card_kind { CARD_NONE = 0, CARD_HOST = 1, CARD_DEVICE = 2 } card_kind_t;

/* How the others may open it. */
typedef struct card {
    uint64_t bytes;
    uint32_t kind; /* card_kind_t */
    uint32_t reserved;
    uint8_t place[WEFT_SHARE_PLACE]; /* of a device */
    uint8_t token[WEFT_SHARE_TOKEN];
} card_t;

_Static_assert(sizeof(card_t) == 200, "the same bytes on all ranks");

/* Exporting and importing --------------------------------------------------------------------------- */

static weft_lent_name_t name_of(const weft_comm_state_t *state, uint32_t rank, uint32_t number)
{
    return (weft_lent_name_t){.comm_id = state->self.id, .owner = rank, .index = number};
}

/* A device that runs plans has to know of windows. */
static bool knows_windows(const weft_comm_state_t *state)
{
    return state->self.family->kernel.lanes == NULL ||
           WEFT_HAS(state->self.family->kernel.lanes, weft_kernel_lanes_t, end_windows);
}

/* What the kernel needs to lend device memory, and to open that of others; NULL: it cannot. */
static const weft_kernel_share_t *share_of(const weft_comm_state_t *state)
{
    const weft_kernel_share_t *share = state->self.family->kernel.share;
    bool able = share != NULL && knows_windows(state) &&
                WEFT_HAS(share, weft_kernel_share_t, lend) &&
                WEFT_HAS(share, weft_kernel_share_t, unlend);
    return able ? share : NULL;
}

static bool reads_host_memory(const weft_comm_state_t *state)
{
    return state->self.family->kernel.memory == NULL && knows_windows(state);
}

/* The kernel said why. */
static void note_slots(uint32_t number)
{
    weft_log(WEFT_LOG_DEBUG, "window", "window %" PRIu32 ": slots are used: %s", number,
             weft_error_record()->text);
}

/* What cannot be shown is not read by others, and that is all. */
static void show(weft_comm_state_t *state, weft_window_t *window, card_t *card)
{
    const weft_kernel_share_t *share = share_of(state);
    weft_lent_name_t name = name_of(state, state->self.rank, window->number);
    weft_status_t status = WEFT_OK;
    *card = (card_t){.bytes = window->bytes};
    if (reads_host_memory(state)) {
        status =
            weft_lend(&name, window->memory, window->bytes, state->self.nranks, &window->exported);
        card->kind = status == WEFT_OK ? CARD_HOST : CARD_NONE;
    } else if (share != NULL) {
        share->place(state->self.family->kernel.instance, card->place);
        status = share->lend(state->self.family->kernel.instance, window->memory, window->bytes,
                             card->token);
        window->on_device = status == WEFT_OK;
        card->kind = status == WEFT_OK ? CARD_DEVICE : CARD_NONE;
    }
    if (status != WEFT_OK) {
        note_slots(window->number);
    }
}

static void open_on_device(weft_comm_state_t *state, uint32_t number, const card_t *card,
                           weft_lanes_window_t *theirs)
{
    const weft_kernel_share_t *share = share_of(state);
    void *memory = NULL;
    weft_status_t status = share->reaches(state->self.family->kernel.instance, card->place);
    if (status == WEFT_OK) {
        status =
            share->import(state->self.family->kernel.instance, card->token, card->bytes, &memory);
    }
    if (status == WEFT_OK) {
        *theirs = (weft_lanes_window_t){.base = memory, .bytes = card->bytes};
    } else {
        note_slots(number);
    }
}

/* True: messages of that rank may refer to its window from now on. */
static bool open_one(weft_comm_state_t *state, uint32_t rank, uint32_t number, const card_t *card)
{
    weft_reach_t *reach = &state->windows.shared.reach[rank];
    weft_lanes_window_t *theirs = &reach->theirs[number];
    weft_lent_name_t name = name_of(state, rank, number);
    if (card->kind == CARD_DEVICE && card->bytes > 0 && share_of(state) != NULL) {
        open_on_device(state, number, card, theirs);
    } else if (card->kind == CARD_HOST && reads_host_memory(state)) {
        reach->lease[number] =
            weft_lease_take(&name, state->self.rank, &theirs->base, &theirs->bytes);
    }
    return theirs->bytes > 0;
}

/* A device that cannot be told would read and send what is no longer there. */
static void tell_devices(weft_comm_state_t *state)
{
    if (state->links != NULL && weft_links_show_windows(state->links) != WEFT_OK) {
        weft_comm_fail(state, -1);
    }
}

/* Exchanges ----------------------------------------------------------------------------------------- */

static size_t row_bytes(const weft_comm_state_t *state)
{
    return (state->self.nranks + 7) / 8;
}

/* What all ranks say of each other: a row of bits each. */
static weft_status_t exchange_rows(weft_comm_state_t *state, weft_window_t *window,
                                   const uint8_t *mine, uint8_t *all)
{
    size_t row = row_bytes(state);
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
        tell_devices(state);
        status = weft_comm_has_failed(state) ? weft_comm_failure(state) : status;
    }
    weft_log(WEFT_LOG_DEBUG, "window",
             "window %" PRIu32 " of %" PRIu64 " bytes: read by %" PRIu32 " of %" PRIu32 " ranks",
             window->number, window->bytes, readers, state->self.nranks - 1);
    return status;
}

static weft_status_t open_all(weft_comm_state_t *state, weft_window_t *window, const card_t *cards)
{
    size_t row = row_bytes(state);
    uint8_t *rows = weft_os_alloc((state->self.nranks + 1) * row, 0);
    if (rows == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot compare windows");
    }
    for (uint32_t r = 0; r < state->self.nranks; r++) {
        if (r != state->self.rank && open_one(state, r, window->number, &cards[r])) {
            rows[r / 8] |= (uint8_t)(1u << r % 8);
        }
    }
    weft_status_t status = exchange_rows(state, window, rows, rows + row);
    weft_os_free(rows);
    return status;
}

static weft_status_t exchange_cards(weft_comm_state_t *state, weft_window_t *window)
{
    card_t mine;
    card_t *cards = weft_os_alloc(state->self.nranks * sizeof *cards, 0);
    if (cards == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot show a window");
    }
    show(state, window, &mine);
    weft_status_t status = weft_comm_exchange(state, WEFT_ROOT_WINDOW_EXPORT + window->number,
                                              &mine, sizeof mine, cards);
    if (status == WEFT_OK) {
        status = open_all(state, window, cards);
    }
    weft_os_free(cards);
    return status;
}

weft_status_t weft_comm_open_window(weft_comm_state_t *state, void *memory, uint64_t bytes,
                                    weft_window_t **window_p)
{
    weft_window_t *window = NULL;
    weft_status_t status =
        weft_window_create(&state->self, &state->windows, memory, bytes, &window);
    if (status != WEFT_OK) {
        return status;
    }
    /* No call is under way while the windows change. */
    weft_engine_drive_all(state);
    if (state->self.nranks > 1) {
        status = exchange_cards(state, window);
    }
    if (status == WEFT_OK) {
        *window_p = window;
    } else {
        weft_window_free(&state->self, &state->windows, window);
    }
    return status;
}

/* A failed communicator asks nobody. */
weft_status_t weft_comm_close_window(weft_comm_state_t *state, weft_window_t *window)
{
    uint8_t mine = 0, *all = weft_os_alloc(state->self.nranks, 0);
    weft_status_t status = WEFT_OK;
    weft_engine_drive_all(state);
    weft_window_close_imports(&state->self, &state->windows, window->number);
    tell_devices(state);
    if (all == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_window_deregister");
    } else if (state->self.nranks > 1 && !weft_comm_has_failed(state)) {
        status = weft_comm_exchange(state, WEFT_ROOT_WINDOW_END + window->number, &mine,
                                    sizeof mine, all);
    }
    weft_os_free(all);
    weft_window_free(&state->self, &state->windows, window);
    return status;
}
