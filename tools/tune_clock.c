/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_clock.h. */
#include "tools/tune_clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/os/os.h"

#define CLOCK_PINGS 64u

/* Which clock a rank reads: that of a boot of a kernel, in a time namespace. */
typedef struct clock_name {
    char boot[64]; /* "": not known */
    uint64_t space;
} clock_name_t;

static clock_name_t clock_name(void)
{
    char *text = NULL;
    size_t bytes = 0;
    int error = 0;
    struct stat space;
    clock_name_t name = {.space = 0};
    if (weft_os_read_file("/proc/sys/kernel/random/boot_id", sizeof name.boot - 1, &text, &bytes,
                          &error) == WEFT_OK) {
        memcpy(name.boot, text, bytes);
    }
    weft_os_free(text);
    name.space = stat("/proc/self/ns/time", &space) == 0 ? (uint64_t)space.st_ino : 0;
    return name;
}

int64_t tune_clock_offset(const tune_ping_t *pings, uint32_t count)
{
    int64_t most = (int64_t)(pings->there - pings->sent);
    int64_t least = (int64_t)(pings->there - pings->back);
    for (const tune_ping_t *ping = pings; ping < pings + count; ping++) {
        const int64_t there = (int64_t)(ping->there - ping->sent);
        const int64_t back = (int64_t)(ping->there - ping->back);
        most = there < most ? there : most;
        least = back > least ? back : least;
    }
    return least + (most - least) / 2;
}

static weft_status_t clock_ping(const tune_rank_t *rank, tune_ping_t *ping)
{
    ping->sent = weft_os_clock_ns();
    weft_status_t status = weft_send(&ping->sent, 1, WEFT_UINT64, 0, rank->comm, NULL);
    status =
        status != WEFT_OK ? status : weft_recv(&ping->there, 1, WEFT_UINT64, 0, rank->comm, NULL);
    ping->back = weft_os_clock_ns();
    return status;
}

static weft_status_t clock_answer(const tune_rank_t *rank, uint32_t peer)
{
    uint64_t sent = 0;
    weft_status_t status = weft_recv(&sent, 1, WEFT_UINT64, peer, rank->comm, NULL);
    const uint64_t now = weft_os_clock_ns();
    return status != WEFT_OK ? status : weft_send(&now, 1, WEFT_UINT64, peer, rank->comm, NULL);
}

/* One rank after the other asks rank 0. */
weft_status_t tune_clock_set(tune_rank_t *rank)
{
    const clock_name_t mine = clock_name();
    clock_name_t first = mine;
    uint8_t other = 0, *others = calloc(rank->nranks, 1);
    if (others == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the clocks of %u ranks",
                         rank->nranks);
    }
    weft_status_t status =
        weft_broadcast(&first, &first, sizeof first, WEFT_UINT8, 0, rank->comm, NULL);
    other = mine.boot[0] == '\0' || memcmp(&mine, &first, sizeof mine) != 0;
    status = status != WEFT_OK ? status
                               : weft_all_gather(&other, others, 1, WEFT_UINT8, rank->comm, NULL);
    rank->clock = 0;
    for (uint32_t r = 1; r < rank->nranks && status == WEFT_OK; r++) {
        tune_ping_t pings[CLOCK_PINGS];
        for (uint32_t i = 0; i < CLOCK_PINGS && others[r] != 0 && status == WEFT_OK; i++) {
            status = rank->rank == r   ? clock_ping(rank, &pings[i])
                     : rank->rank == 0 ? clock_answer(rank, r)
                                       : WEFT_OK;
        }
        if (others[r] != 0 && rank->rank == r && status == WEFT_OK) {
            rank->clock = tune_clock_offset(pings, CLOCK_PINGS);
        }
    }
    free(others);
    return status;
}
