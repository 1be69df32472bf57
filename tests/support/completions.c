/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See completions.h. */
#include "tests/support/completions.h"

int completions_read(weft_completion_queue_t *queue, uint32_t count, uint32_t rank, uint32_t sum)
{
    weft_completion_t entries[64];
    int wrong = 0;
    while (count > 0 && wrong == 0) {
        uint32_t n = 0;
        NEED(weft_completion_queue_wait(queue, entries, 64, &n, 30) == WEFT_OK);
        NEED(n > 0 && n <= count);
        for (uint32_t i = 0; i < n && n <= count; i++) {
            uint32_t *value = entries[i].context;
            NEED(entries[i].status == WEFT_OK && *value == sum);
            *value = 0;
        }
        count -= n <= count ? n : count;
    }
    return wrong;
}
