/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See put_table.h. */
#include "core/comm/put_table.h"

#include <errno.h>

#include "core/base/error.h"

weft_status_t weft_puts_create(uint32_t nranks, weft_puts_t **puts_p)
{
    weft_puts_t *puts = weft_os_alloc(sizeof *puts, 0);
    weft_status_t status = puts == NULL ? WEFT_ERR_RESOURCE : WEFT_OK;
    if (status == WEFT_OK) {
        puts->from = weft_os_alloc(nranks * sizeof *puts->from, 0);
        puts->listening = weft_os_alloc(nranks * sizeof *puts->listening, 0);
        status = puts->from == NULL || puts->listening == NULL
                     ? WEFT_ERR_RESOURCE
                     : weft_p2p_open(&puts->p2p, nranks, WEFT_PUT_CHANNEL);
    }
    if (status != WEFT_OK) {
        weft_puts_destroy(puts);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate puts to %u ranks", nranks);
    }
    for (uint32_t r = 0; r < nranks; r++) {
        puts->from[r].queue.peer = r;
        puts->from[r].queue.channel = WEFT_PUT_CHANNEL;
    }
    *puts_p = puts;
    return WEFT_OK;
}

void weft_puts_destroy(weft_puts_t *puts)
{
    if (puts == NULL) {
        return;
    }
    weft_p2p_close(&puts->p2p);
    weft_os_free(puts->listening);
    weft_os_free(puts->from);
    weft_os_free(puts);
}

size_t weft_puts_bytes_per_rank(void)
{
    return weft_p2p_bytes_per_rank() + sizeof(weft_put_source_t) + sizeof(uint32_t);
}
