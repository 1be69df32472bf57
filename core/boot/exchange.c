/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges over the tree: up to rank 0 and down again. In the subtree of r, level l is the run of
 * ranks from (r + 1)·2^l − 1, at most 2^l long. So the part of a table that belongs to a subtree is
 * log n pieces, which are sent and received in place. Where ranks only want to know what their
 * values come to, each rank sends one value up and one down (weft_boot_all_reduce), however many
 * there are. */
#include "core/boot/exchange.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/boot.h"
#include "core/boot/boot_state.h"
#include "core/boot/tree_link.h"
#include "core/os/os.h"

#define LARGEST (UINT32_C(1) << 28) /* bytes of one frame */
#define LEVEL_NS (100 * WEFT_NS_PER_MS)

/* Finds the run of ranks on `level` below `rank`. Returns false when there is none. */
static bool exchange_level(uint32_t rank, uint32_t level, uint32_t nranks, uint32_t *first,
                           uint32_t *count)
{
    uint64_t start = (((uint64_t)rank + 1) << level) - 1;
    if (start >= nranks) {
        return false;
    }
    uint64_t width = UINT64_C(1) << level, room = nranks - start;
    *first = (uint32_t)start;
    *count = (uint32_t)(width < room ? width : room);
    return true;
}

static uint32_t exchange_subtree(uint32_t rank, uint32_t nranks, uint32_t *levels)
{
    uint32_t total = 0, first, count;
    for (*levels = 0; exchange_level(rank, *levels, nranks, &first, &count); (*levels)++) {
        total += count;
    }
    return total;
}

/* A rank that is deeper in the tree gives up earlier. So errors name the rank that did not come,
 * and not a rank that waits for it. */
static uint64_t exchange_deadline(const weft_boot_t *boot, uint32_t height)
{
    return boot->until > WEFT_NEVER / 2 ? WEFT_NEVER : boot->until + height * LEVEL_NS;
}

static weft_status_t exchange_malformed(weft_boot_t *boot, const weft_tree_link_t *link,
                                        const char *what, const char *field)
{
    char who[128];
    weft_boot_rank_text(boot, link->rank, who, sizeof who);
    weft_fail(WEFT_ERR_PROTO, 0, "%s sent a frame with a bad %s during %s", who, field, what);
    return weft_boot_set_culprit(boot, link->rank);
}

static bool exchange_has(const weft_boot_t *boot, uint32_t child)
{
    return boot->links[child].rank < boot->nranks;
}

/* The frame of this exchange that comes over the link is here, whole. */
static weft_status_t exchange_took(weft_boot_t *boot, weft_tree_link_t *link, weft_status_t status)
{
    if (status == WEFT_OK) {
        link->took = boot->sequence + 1;
    }
    return status;
}

/* Receives a header that must be of `type`. A failure that comes instead is returned as such.
 * AGAIN: as weft_tree_link_recv(). */
static weft_status_t exchange_recv_header(weft_boot_t *boot, weft_tree_link_t *link,
                                          const char *what, uint32_t type, uint64_t until,
                                          weft_frame_t *frame)
{
    const char *why = NULL;
    weft_status_t status = weft_tree_link_next(boot, link, what, until, frame, &why);
    if (status != WEFT_OK) {
        return why != NULL ? exchange_malformed(boot, link, what, why) : status;
    }
    return frame->type != type                 ? exchange_malformed(boot, link, what, "type")
           : frame->from != link->rank         ? exchange_malformed(boot, link, what, "rank")
           : frame->sequence != boot->sequence ? exchange_malformed(boot, link, what, "step number")
           : frame->bytes > LARGEST            ? exchange_malformed(boot, link, what, "length")
                                               : WEFT_OK;
}

static weft_status_t exchange_gather_once(weft_boot_t *boot, weft_tree_link_t *link,
                                          const char *what, size_t bytes, uint8_t *all)
{
    uint32_t levels, first, count;
    uint32_t ranks = exchange_subtree(link->rank, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, levels - 1);
    weft_frame_t frame;
    weft_status_t status = exchange_recv_header(boot, link, what, WEFT_FRAME_GATHER, until, &frame);
    if (status == WEFT_OK && (frame.number != bytes || frame.bytes != ranks * bytes)) {
        return exchange_malformed(boot, link, what, "length");
    }
    for (uint32_t l = 0;
         status == WEFT_OK && exchange_level(link->rank, l, boot->nranks, &first, &count); l++) {
        status = weft_tree_link_recv(boot, link, what, all + first * bytes, count * bytes, until);
    }
    return status;
}

static weft_status_t exchange_gather_from(weft_boot_t *boot, weft_tree_link_t *link,
                                          const char *what, size_t bytes, uint8_t *all)
{
    weft_status_t status;
    do {
        status = exchange_gather_once(boot, link, what, bytes, all);
    } while (status == WEFT_AGAIN);
    return exchange_took(boot, link, status);
}

/* Makes the record of what this rank says. Where it cannot, the others hear that, and from whom. */
static weft_status_t exchange_record(weft_boot_t *boot, uint32_t type, size_t bytes,
                                     uint64_t number, weft_tree_record_t **record_p)
{
    weft_status_t status = weft_tree_record_make(boot, type, bytes, number, record_p);
    if (status != WEFT_OK) {
        weft_tree_give_up(boot);
    }
    return status;
}

static weft_status_t exchange_gather_up(weft_boot_t *boot, const char *what, size_t bytes,
                                        uint8_t *all)
{
    weft_tree_link_t *parent = &boot->links[WEFT_TREE_PARENT];
    weft_tree_record_t *record;
    uint32_t levels, first, count;
    uint32_t ranks = exchange_subtree(boot->rank, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, levels);
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 1; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        if (exchange_has(boot, i)) {
            status = exchange_gather_from(boot, &boot->links[i], what, bytes, all);
        }
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_tree_records_drop(boot, WEFT_FRAME_SPREAD); /* or the children would not be here */
    if (boot->rank == 0) {
        return WEFT_OK;
    }
    status = exchange_record(boot, WEFT_FRAME_GATHER, ranks * bytes, bytes, &record);
    uint8_t *to = status == WEFT_OK ? record->payload : NULL;
    for (uint32_t l = 0; to != NULL && exchange_level(boot->rank, l, boot->nranks, &first, &count);
         l++) {
        memcpy(to, all + first * bytes, count * bytes);
        to += count * bytes;
    }
    return status == WEFT_OK ? weft_tree_link_send(boot, parent, what, record, until) : status;
}

/* Receives what the subtree of the link has made of its bytes. */
static weft_status_t exchange_value_once(weft_boot_t *boot, weft_tree_link_t *link,
                                         const char *what, size_t bytes, void *theirs)
{
    uint32_t levels;
    (void)exchange_subtree(link->rank, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, levels - 1);
    weft_frame_t frame;
    weft_status_t status = exchange_recv_header(boot, link, what, WEFT_FRAME_GATHER, until, &frame);
    if (status == WEFT_OK && (frame.number != bytes || frame.bytes != bytes)) {
        return exchange_malformed(boot, link, what, "length");
    }
    return status == WEFT_OK ? weft_tree_link_recv(boot, link, what, theirs, bytes, until) : status;
}

/* It is combined into `data`. */
static weft_status_t exchange_combine_from(weft_boot_t *boot, weft_tree_link_t *link,
                                           const char *what, size_t bytes, void *data,
                                           weft_boot_combine_fn_t combine)
{
    _Alignas(16) uint8_t theirs[WEFT_BOOT_REDUCE_MOST];
    weft_status_t status;
    do {
        status = exchange_value_once(boot, link, what, bytes, theirs);
    } while (status == WEFT_AGAIN);
    if (status == WEFT_OK) {
        combine(data, theirs);
    }
    return exchange_took(boot, link, status);
}

static weft_status_t exchange_combine_up(weft_boot_t *boot, const char *what, size_t bytes,
                                         void *data, weft_boot_combine_fn_t combine)
{
    weft_tree_link_t *parent = &boot->links[WEFT_TREE_PARENT];
    weft_tree_record_t *record;
    uint32_t levels;
    (void)exchange_subtree(boot->rank, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, levels);
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 1; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        if (exchange_has(boot, i)) {
            status = exchange_combine_from(boot, &boot->links[i], what, bytes, data, combine);
        }
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_tree_records_drop(boot, WEFT_FRAME_SPREAD); /* or the children would not be here */
    if (boot->rank == 0) {
        return WEFT_OK;
    }
    status = exchange_record(boot, WEFT_FRAME_GATHER, bytes, bytes, &record);
    if (status != WEFT_OK) {
        return status;
    }
    memcpy(record->payload, data, bytes);
    return weft_tree_link_send(boot, parent, what, record, until);
}

static weft_status_t exchange_spread_once(weft_boot_t *boot, const char *what, void *data,
                                          size_t max, size_t *bytes, uint64_t until)
{
    weft_tree_link_t *parent = &boot->links[WEFT_TREE_PARENT];
    weft_frame_t frame;
    weft_status_t status =
        exchange_recv_header(boot, parent, what, WEFT_FRAME_SPREAD, until, &frame);
    if (status == WEFT_OK && frame.bytes > max) {
        status = exchange_malformed(boot, parent, what, "length");
    }
    if (status == WEFT_OK) {
        *bytes = frame.bytes;
        status = weft_tree_link_recv(boot, parent, what, data, *bytes, until);
    }
    return status;
}

/* Sends rank 0's bytes to all, at most `max`. *bytes is their number afterwards. */
static weft_status_t exchange_spread_down(weft_boot_t *boot, const char *what, void *data,
                                          size_t max, size_t *bytes)
{
    uint32_t levels;
    (void)exchange_subtree(0, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, 2 * levels);
    weft_tree_record_t *record = NULL;
    weft_status_t status = boot->rank > 0 ? WEFT_AGAIN : WEFT_OK;
    while (status == WEFT_AGAIN) {
        status = exchange_spread_once(boot, what, data, max, bytes, until);
    }
    if (boot->rank > 0) {
        status = exchange_took(boot, &boot->links[WEFT_TREE_PARENT], status);
        weft_tree_records_drop(boot, WEFT_FRAME_GATHER); /* what came is the answer */
    }
    if (status == WEFT_OK && exchange_has(boot, 1)) {
        status = exchange_record(boot, WEFT_FRAME_SPREAD, *bytes, 0, &record);
    }
    if (record != NULL && *bytes > 0) {
        memcpy(record->payload, data, *bytes);
    }
    for (uint32_t i = 1; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        if (exchange_has(boot, i)) {
            status = weft_tree_link_send(boot, &boot->links[i], what, record, until);
        }
    }
    return status;
}

static weft_status_t exchange_finish(weft_boot_t *boot, weft_status_t status)
{
    boot->sequence++;
    if (status != WEFT_OK) {
        weft_tree_spread_failure(boot);
    }
    return status;
}

static weft_status_t exchange_check(const weft_boot_t *boot, const char *what)
{
    if (boot->health != NULL || boot->failed) {
        return weft_fail(WEFT_ERR_STATE, 0, "%s after the initialisation %s", what,
                         boot->failed ? "failed" : "ended");
    }
    return WEFT_OK;
}

weft_status_t weft_boot_all_gather(weft_boot_t *boot, const char *what, const void *mine,
                                   size_t bytes, void *all)
{
    weft_status_t status = exchange_check(boot, what);
    if (status != WEFT_OK) {
        return status;
    }
    if (bytes > LARGEST / boot->nranks) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "%s: %zu bytes of each of %u ranks are too many",
                         what, bytes, boot->nranks);
    }
    size_t total = bytes * boot->nranks;
    if (bytes > 0) {
        memcpy((uint8_t *)all + boot->rank * bytes, mine, bytes);
    }
    status = exchange_gather_up(boot, what, bytes, all);
    if (status == WEFT_OK) {
        status = exchange_spread_down(boot, what, all, total, &total);
    }
    if (status == WEFT_OK && total != bytes * boot->nranks) {
        status = exchange_malformed(boot, &boot->links[WEFT_TREE_PARENT], what, "length");
    }
    /* Where this rank's bytes come back as others, so may those of all. The children have the table
     * already; they hear of it in the next step. */
    if (status == WEFT_OK && bytes > 0 &&
        memcmp((const uint8_t *)all + boot->rank * bytes, mine, bytes) != 0) {
        char field[48];
        snprintf(field, sizeof field, "copy of rank %u's bytes", boot->rank);
        status = exchange_malformed(boot, &boot->links[WEFT_TREE_PARENT], what, field);
    }
    return exchange_finish(boot, status);
}

weft_status_t weft_boot_all_reduce(weft_boot_t *boot, const char *what, void *data, size_t bytes,
                                   weft_boot_combine_fn_t combine)
{
    weft_status_t status = exchange_check(boot, what);
    if (status != WEFT_OK) {
        return status;
    }
    if (bytes == 0 || bytes > WEFT_BOOT_REDUCE_MOST) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: %zu bytes; 1 to %u can be combined", what, bytes,
                         WEFT_BOOT_REDUCE_MOST);
    }
    size_t total = bytes;
    status = exchange_combine_up(boot, what, bytes, data, combine);
    if (status == WEFT_OK) {
        status = exchange_spread_down(boot, what, data, bytes, &total);
    }
    if (status == WEFT_OK && total != bytes) {
        status = exchange_malformed(boot, &boot->links[WEFT_TREE_PARENT], what, "length");
    }
    return exchange_finish(boot, status);
}

weft_status_t weft_boot_broadcast(weft_boot_t *boot, const char *what, void *data, size_t max,
                                  size_t *bytes_p)
{
    weft_status_t status = exchange_check(boot, what);
    if (status != WEFT_OK) {
        return status;
    }
    if (boot->rank == 0 && (*bytes_p > max || *bytes_p > LARGEST)) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "%s: %zu bytes are too many", what, *bytes_p);
    }
    return exchange_finish(boot, exchange_spread_down(boot, what, data, max, bytes_p));
}
