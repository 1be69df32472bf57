/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sorts the ends of queues: a counting sort by each of their words. */
#include "core/plan/ends.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

/* One stable pass of a counting sort by the word at `offset` of each end. */
static void ends_sort_by(weft_plan_end_t *to, const weft_plan_end_t *from, uint64_t count,
                         uint64_t *starts, size_t offset)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t key = *(const uint32_t *)((const char *)&from[i] + offset);
        most = key > most ? key : most;
        starts[key + 1]++;
    }
    for (uint32_t key = 0; key < most; key++) {
        starts[key + 1] += starts[key];
    }
    for (uint64_t i = 0; i < count; i++) {
        to[starts[*(const uint32_t *)((const char *)&from[i] + offset)]++] = from[i];
    }
    memset(starts, 0, ((size_t)most + 2) * sizeof *starts);
}

weft_status_t weft_plan_ends_sort(weft_plan_end_t **ends_p, uint64_t count)
{
    static const size_t words[] = {offsetof(weft_plan_end_t, key), offsetof(weft_plan_end_t, to),
                                   offsetof(weft_plan_end_t, from)};
    uint32_t most = 0;
    for (uint64_t i = 0; i < count; i++) {
        const weft_plan_end_t *end = &(*ends_p)[i];
        uint32_t wide = end->from > end->to ? end->from : end->to;
        wide = end->key > wide ? end->key : wide;
        most = wide > most ? wide : most;
    }
    uint64_t *starts = weft_os_alloc(((size_t)most + 2) * sizeof *starts, 0);
    weft_plan_end_t *other = weft_os_alloc((count + 1) * sizeof *other, 0);
    if (starts == NULL || other == NULL) {
        weft_os_free(starts);
        weft_os_free(other);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to pair %llu ports",
                         (unsigned long long)count);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        weft_plan_end_t *sorted = other;
        ends_sort_by(sorted, *ends_p, count, starts, words[i]);
        other = *ends_p;
        *ends_p = sorted;
    }
    weft_os_free(starts);
    weft_os_free(other);
    return WEFT_OK;
}
