/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows of a communicator. Two exchanges make one: each rank shows what it has and opens what it can of
 * the others, then each says which it has open, so that senders refer to nothing else. One exchange ends
 * it, after which all have closed it and have no call under way that was begun before. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/call.h"

/* This rank's. */
struct weft_window {
    uint32_t number;
    void *memory;
    uint64_t bytes;
    weft_lent_t *lent; /* host memory, to threads of this process; or NULL */
    bool on_device;    /* lent by the kernel */
};

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

/* Showing and opening ------------------------------------------------------------------------------- */

static weft_lent_name_t name_of(const weft_comm_state_t *state, uint32_t rank, uint32_t number)
{
    return (weft_lent_name_t){.comm_id = state->id, .owner = rank, .index = number};
}

/* A device that runs plans has to know of windows. */
static bool knows_windows(const weft_comm_state_t *state)
{
    return state->family->kernel.lanes == NULL ||
           WEFT_HAS(state->family->kernel.lanes, weft_kernel_lanes_t, end_windows);
}

/* What the kernel needs to lend device memory, and to open that of others; NULL: it cannot. */
static const weft_kernel_share_t *share_of(const weft_comm_state_t *state)
{
    const weft_kernel_share_t *share = state->family->kernel.share;
    bool able = share != NULL && knows_windows(state) &&
                WEFT_HAS(share, weft_kernel_share_t, lend) &&
                WEFT_HAS(share, weft_kernel_share_t, unlend);
    return able ? share : NULL;
}

static bool reads_host_memory(const weft_comm_state_t *state)
{
    return state->family->kernel.memory == NULL && knows_windows(state);
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
    weft_lent_name_t name = name_of(state, state->rank, window->number);
    weft_status_t status = WEFT_OK;
    *card = (card_t){.bytes = window->bytes};
    if (reads_host_memory(state)) {
        status = weft_lend(&name, window->memory, window->bytes, state->nranks, &window->lent);
        card->kind = status == WEFT_OK ? CARD_HOST : CARD_NONE;
    } else if (share != NULL) {
        share->place(state->family->kernel.instance, card->place);
        status =
            share->lend(state->family->kernel.instance, window->memory, window->bytes, card->token);
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
    weft_status_t status = share->reaches(state->family->kernel.instance, card->place);
    if (status == WEFT_OK) {
        status = share->import(state->family->kernel.instance, card->token, card->bytes, &memory);
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
    weft_reach_t *reach = &state->windows.reach[rank];
    weft_lanes_window_t *theirs = &reach->theirs[number];
    weft_lent_name_t name = name_of(state, rank, number);
    if (card->kind == CARD_DEVICE && card->bytes > 0 && share_of(state) != NULL) {
        open_on_device(state, number, card, theirs);
    } else if (card->kind == CARD_HOST && reads_host_memory(state)) {
        reach->lease[number] = weft_lease_take(&name, state->rank, &theirs->base, &theirs->bytes);
    }
    return theirs->bytes > 0;
}

static void close_one(weft_comm_state_t *state, uint32_t rank, uint32_t number)
{
    weft_reach_t *reach = &state->windows.reach[rank];
    if (reach->lease[number] != NULL) {
        weft_lease_give(reach->lease[number]);
    } else if (reach->theirs[number].bytes > 0) {
        state->family->kernel.share->unimport(state->family->kernel.instance,
                                              reach->theirs[number].base);
    }
    reach->lease[number] = NULL;
    reach->theirs[number] = reach->mine[number] = (weft_lanes_window_t){.bytes = 0};
}

/* A device that cannot be told would read and send what is no longer there. */
static void tell_devices(weft_comm_state_t *state)
{
    if (state->links != NULL && weft_links_show_windows(state->links) != WEFT_OK) {
        weft_engine_fail(state, -1);
    }
}

static void close_all(weft_comm_state_t *state, uint32_t number)
{
    for (uint32_t r = 0; state->windows.reach != NULL && r < state->nranks; r++) {
        close_one(state, r, number);
    }
}

/* The window is gone from here; peers of this process that read it are waited for. */
static void window_free(weft_comm_state_t *state, weft_window_t *window)
{
    close_all(state, window->number);
    weft_lend_end(window->lent);
    if (window->on_device) {
        state->family->kernel.share->unlend(state->family->kernel.instance, window->memory);
    }
    state->window[window->number] = NULL;
    weft_os_free(window);
}

/* Exchanges ----------------------------------------------------------------------------------------- */

static size_t row_bytes(const weft_comm_state_t *state)
{
    return (state->nranks + 7) / 8;
}

/* What all ranks say of each other: a row of bits each. */
static weft_status_t exchange_rows(weft_comm_state_t *state, weft_window_t *window,
                                   const uint8_t *mine, uint8_t *all)
{
    size_t row = row_bytes(state);
    uint32_t readers = 0;
    weft_status_t status =
        weft_comm_exchange(state, WEFT_ROOT_WINDOW_OPEN + window->number, mine, row, all);
    for (uint32_t r = 0; status == WEFT_OK && r < state->nranks; r++) {
        if ((all[r * row + state->rank / 8] >> state->rank % 8 & 1) != 0) {
            state->windows.reach[r].mine[window->number] =
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
             window->number, window->bytes, readers, state->nranks - 1);
    return status;
}

static weft_status_t open_all(weft_comm_state_t *state, weft_window_t *window, const card_t *cards)
{
    size_t row = row_bytes(state);
    uint8_t *rows = weft_os_alloc((state->nranks + 1) * row, 0);
    if (rows == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot compare windows");
    }
    for (uint32_t r = 0; r < state->nranks; r++) {
        if (r != state->rank && open_one(state, r, window->number, &cards[r])) {
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
    card_t *cards = weft_os_alloc(state->nranks * sizeof *cards, 0);
    if (cards == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot show a window");
    }
    show(state, window, &mine);
    weft_status_t status = weft_comm_exchange(state, WEFT_ROOT_WINDOW_SHOW + window->number, &mine,
                                              sizeof mine, cards);
    if (status == WEFT_OK) {
        status = open_all(state, window, cards);
    }
    weft_os_free(cards);
    return status;
}

/* Calls ---------------------------------------------------------------------------------------------- */

static weft_status_t new_window(weft_comm_state_t *state, void *memory, uint64_t bytes,
                                weft_window_t **window_p)
{
    uint32_t number = 0;
    while (number < WEFT_LANES_WINDOWS && state->window[number] != NULL) {
        number++;
    }
    if (number == WEFT_LANES_WINDOWS) {
        return weft_fail(WEFT_ERR_RESOURCE, 0,
                         "weft_window_register: the communicator has %u windows, the most there "
                         "can be; end one with weft_window_deregister",
                         (unsigned)WEFT_LANES_WINDOWS);
    }
    weft_windows_t *windows = &state->windows;
    if (windows->reach == NULL) {
        windows->reach = weft_os_alloc(state->nranks * sizeof *windows->reach, 0);
    }
    weft_window_t *window = weft_os_alloc(sizeof *window, 0);
    if (windows->reach == NULL || window == NULL) {
        weft_os_free(window);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_window_register");
    }
    *window = (weft_window_t){.number = number, .memory = memory, .bytes = bytes};
    state->window[number] = *window_p = window;
    return WEFT_OK;
}

static weft_status_t register_window(weft_comm_state_t *state, void *memory, uint64_t bytes,
                                     weft_window_t **window_p)
{
    weft_window_t *window = NULL;
    weft_status_t status = new_window(state, memory, bytes, &window);
    if (status != WEFT_OK) {
        return status;
    }
    /* No call is under way while the windows change. */
    weft_engine_drive_all(state);
    if (state->nranks > 1) {
        status = exchange_cards(state, window);
    }
    if (status == WEFT_OK) {
        *window_p = window;
    } else {
        window_free(state, window);
    }
    return status;
}

static weft_status_t check_memory(const void *memory, uint64_t bytes, weft_window_t **window_p)
{
    if (memory == NULL || window_p == NULL || bytes == 0) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_window_register: %s",
                         memory == NULL     ? "the memory is NULL"
                         : window_p == NULL ? "the place for the window is NULL"
                                            : "a window has at least 1 byte");
    }
    if ((uintptr_t)memory + bytes < (uintptr_t)memory) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_window_register: the memory wraps around the address space");
    }
    return WEFT_OK;
}

weft_status_t weft_window_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                   weft_window_t **window_p)
{
    weft_comm_state_t *state;
    weft_status_t status = check_memory(memory, bytes, window_p);
    if (status == WEFT_OK) {
        status = weft_group_refuse("weft_window_register");
    }
    if (status == WEFT_OK) {
        status = weft_comm_enter(comm, "weft_window_register", &state);
    }
    if (status != WEFT_OK) {
        return weft_api_error("window", status);
    }
    bool logged = weft_comm_has_failed(state);
    if (logged) {
        status = weft_comm_failure(state);
    } else {
        status = register_window(state, memory, bytes, window_p);
        logged = weft_comm_has_failed(state);
    }
    weft_comm_leave(state);
    return status == WEFT_OK || logged ? status : weft_api_error("window", status);
}

/* A failed communicator asks nobody. */
static weft_status_t end_window(weft_comm_state_t *state, weft_window_t *window)
{
    uint8_t mine = 0, *all = weft_os_alloc(state->nranks, 0);
    weft_status_t status = WEFT_OK;
    weft_engine_drive_all(state);
    close_all(state, window->number);
    tell_devices(state);
    if (all == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_window_deregister");
    } else if (state->nranks > 1 && !weft_comm_has_failed(state)) {
        status = weft_comm_exchange(state, WEFT_ROOT_WINDOW_END + window->number, &mine,
                                    sizeof mine, all);
    }
    weft_os_free(all);
    window_free(state, window);
    return status;
}

weft_status_t weft_window_deregister(weft_comm_t *comm, weft_window_t *window)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_group_refuse("weft_window_deregister");
    if (status == WEFT_OK) {
        status = weft_comm_enter(comm, "weft_window_deregister", &state);
    }
    if (status != WEFT_OK) {
        return weft_api_error("window", status);
    }
    uint32_t number = 0;
    while (number < WEFT_LANES_WINDOWS && state->window[number] != window) {
        number++;
    }
    bool logged = weft_comm_has_failed(state);
    if (window != NULL && number == WEFT_LANES_WINDOWS) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           "weft_window_deregister: no window of this communicator, or ended "
                           "before");
    } else if (window != NULL) {
        status = end_window(state, window);
        logged = weft_comm_has_failed(state);
    }
    weft_comm_leave(state);
    return status == WEFT_OK || logged ? status : weft_api_error("window", status);
}

void weft_comm_free_windows(weft_comm_state_t *state)
{
    for (uint32_t number = 0; number < WEFT_LANES_WINDOWS; number++) {
        if (state->window[number] != NULL) {
            window_free(state, state->window[number]);
        }
    }
    if (state->windows.reach != NULL) {
        weft_log(WEFT_LOG_DEBUG, "window", "rank %" PRIu32 ": %" PRIu64 " messages by reference",
                 state->rank, state->windows.sent);
    }
    weft_os_free(state->windows.reach);
}
