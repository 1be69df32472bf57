/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges over the tree: up to rank 0 and down again. In the subtree of r, level l is the run of
 * ranks from (r + 1)·2^l − 1, at most 2^l long. So the part of a table that belongs to a subtree is
 * log n pieces, which are sent and received in place. Where ranks only want to know what their values
 * come to, each rank sends one value up and one down (weft_boot_all_reduce), however many there are. */
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

static weft_status_t exchange_send_header(weft_boot_t *boot, weft_tree_link_t *link, uint32_t type,
                                          uint64_t bytes, uint64_t number, uint64_t until)
{
    uint8_t header[WEFT_WIRE_HEADER];
    weft_frame_t frame = {.type = type,
                          .bytes = (uint32_t)bytes,
                          .from = boot->rank,
                          .sequence = boot->sequence,
                          .comm_id = boot->comm_id,
                          .number = number};
    weft_frame_encode(&frame, header);
    weft_status_t status = weft_tree_link_send(boot, link, header, sizeof header, until);
    link->torn = bytes > 0;
    return status;
}

static weft_status_t exchange_malformed(weft_boot_t *boot, const weft_tree_link_t *link,
                                        const char *what, const char *field)
{
    char who[128];
    weft_boot_rank_text(boot, link->rank, who, sizeof who);
    weft_fail(WEFT_ERR_PROTO, 0, "%s sent a frame with a bad %s during %s", who, field, what);
    return weft_boot_set_culprit(boot, link->rank);
}

/* Receives a header that must be of `type`. A failure that comes instead is returned as such. */
static weft_status_t exchange_recv_header(weft_boot_t *boot, weft_tree_link_t *link,
                                          const char *what, uint32_t type, uint64_t until,
                                          weft_frame_t *frame)
{
    uint8_t header[WEFT_WIRE_HEADER], payload[WEFT_WIRE_ERROR];
    const char *why;
    weft_status_t status = weft_tree_link_recv(boot, link, what, header, sizeof header, until);
    if (status != WEFT_OK) {
        return status;
    }
    if (weft_frame_decode(header, boot->nranks, boot->comm_id, frame, &why) != WEFT_OK) {
        return exchange_malformed(boot, link, what, why);
    }
    if (weft_frame_is_failure(frame)) {
        status = weft_tree_link_recv(boot, link, what, payload, sizeof payload, until);
        return status != WEFT_OK ? status : weft_tree_adopt_failure(boot, payload, link->rank);
    }
    return frame->type != type                 ? exchange_malformed(boot, link, what, "type")
           : frame->from != link->rank         ? exchange_malformed(boot, link, what, "rank")
           : frame->sequence != boot->sequence ? exchange_malformed(boot, link, what, "step number")
           : frame->bytes > LARGEST            ? exchange_malformed(boot, link, what, "length")
                                               : WEFT_OK;
}

/* Moves the subtree of `top` between `all` and the link. */
static weft_status_t exchange_move_subtree(weft_boot_t *boot, weft_tree_link_t *link, uint32_t top,
                                           const char *what, size_t bytes, uint8_t *all,
                                           uint64_t until)
{
    uint32_t first, count;
    weft_status_t status = WEFT_OK;
    for (uint32_t l = 0; status == WEFT_OK && exchange_level(top, l, boot->nranks, &first, &count);
         l++) {
        uint8_t *at = all + first * bytes;
        status = top == boot->rank
                     ? weft_tree_link_send(boot, link, at, count * bytes, until)
                     : weft_tree_link_recv(boot, link, what, at, count * bytes, until);
    }
    return status;
}

static weft_status_t exchange_gather_from(weft_boot_t *boot, weft_tree_link_t *link,
                                          const char *what, size_t bytes, uint8_t *all)
{
    uint32_t levels;
    uint32_t ranks = exchange_subtree(link->rank, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, levels - 1);
    weft_frame_t frame;
    weft_status_t status = exchange_recv_header(boot, link, what, WEFT_FRAME_GATHER, until, &frame);
    if (status != WEFT_OK) {
        return status;
    }
    if (frame.number != bytes || frame.bytes != ranks * bytes) {
        return exchange_malformed(boot, link, what, "length");
    }
    return exchange_move_subtree(boot, link, link->rank, what, bytes, all, until);
}

static weft_status_t exchange_gather_up(weft_boot_t *boot, const char *what, size_t bytes,
                                        uint8_t *all)
{
    weft_tree_link_t *parent = &boot->links[WEFT_TREE_PARENT];
    uint32_t levels;
    uint32_t ranks = exchange_subtree(boot->rank, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, levels);
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 1; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        if (boot->links[i].fd >= 0) {
            status = exchange_gather_from(boot, &boot->links[i], what, bytes, all);
        }
    }
    if (status != WEFT_OK || boot->rank == 0) {
        return status;
    }
    status = exchange_send_header(boot, parent, WEFT_FRAME_GATHER, ranks * bytes, bytes, until);
    return status != WEFT_OK
               ? status
               : exchange_move_subtree(boot, parent, boot->rank, what, bytes, all, until);
}

/* What the subtree of the link has made of its bytes is combined into `data`. */
static weft_status_t exchange_combine_from(weft_boot_t *boot, weft_tree_link_t *link,
                                           const char *what, size_t bytes, void *data,
                                           weft_boot_combine_fn_t combine)
{
    _Alignas(16) uint8_t theirs[WEFT_BOOT_REDUCE_MOST];
    uint32_t levels;
    (void)exchange_subtree(link->rank, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, levels - 1);
    weft_frame_t frame;
    weft_status_t status = exchange_recv_header(boot, link, what, WEFT_FRAME_GATHER, until, &frame);
    if (status == WEFT_OK && (frame.number != bytes || frame.bytes != bytes)) {
        return exchange_malformed(boot, link, what, "length");
    }
    if (status == WEFT_OK) {
        status = weft_tree_link_recv(boot, link, what, theirs, bytes, until);
    }
    if (status == WEFT_OK) {
        combine(data, theirs);
    }
    return status;
}

static weft_status_t exchange_combine_up(weft_boot_t *boot, const char *what, size_t bytes,
                                         void *data, weft_boot_combine_fn_t combine)
{
    weft_tree_link_t *parent = &boot->links[WEFT_TREE_PARENT];
    uint32_t levels;
    (void)exchange_subtree(boot->rank, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, levels);
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 1; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        if (boot->links[i].fd >= 0) {
            status = exchange_combine_from(boot, &boot->links[i], what, bytes, data, combine);
        }
    }
    if (status != WEFT_OK || boot->rank == 0) {
        return status;
    }
    status = exchange_send_header(boot, parent, WEFT_FRAME_GATHER, bytes, bytes, until);
    return status != WEFT_OK ? status : weft_tree_link_send(boot, parent, data, bytes, until);
}

/* Sends rank 0's bytes to all, at most `max`. *bytes is their number afterwards. */
static weft_status_t exchange_spread_down(weft_boot_t *boot, const char *what, void *data,
                                          size_t max, size_t *bytes)
{
    uint32_t levels;
    (void)exchange_subtree(0, boot->nranks, &levels);
    uint64_t until = exchange_deadline(boot, 2 * levels);
    weft_tree_link_t *parent = &boot->links[WEFT_TREE_PARENT];
    weft_status_t status = WEFT_OK;
    if (boot->rank > 0) {
        weft_frame_t frame;
        status = exchange_recv_header(boot, parent, what, WEFT_FRAME_SPREAD, until, &frame);
        if (status == WEFT_OK && frame.bytes > max) {
            status = exchange_malformed(boot, parent, what, "length");
        }
        if (status == WEFT_OK) {
            *bytes = frame.bytes;
            status = weft_tree_link_recv(boot, parent, what, data, *bytes, until);
        }
    }
    for (uint32_t i = 1; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        if (boot->links[i].fd >= 0) {
            status =
                exchange_send_header(boot, &boot->links[i], WEFT_FRAME_SPREAD, *bytes, 0, until);
        }
        if (status == WEFT_OK && boot->links[i].fd >= 0) {
            status = weft_tree_link_send(boot, &boot->links[i], data, *bytes, until);
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
