/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of joiners. */
#include "core/boot/root_joiners.h"

#include <string.h>

#include "core/os/os.h"

#define JOINERS_FIRST 16

void weft_root_joiners_tell(const weft_root_joiners_t *joiners, const weft_root_table_t *table)
{
    for (uint32_t i = 0; table->failure.status != WEFT_OK && i < joiners->room; i++) {
        if (joiners->list[i].fd >= 0) {
            weft_root_send_error(table, joiners->list[i].fd, &table->failure);
        }
    }
}

void weft_root_joiners_fini(weft_root_joiners_t *joiners)
{
    for (uint32_t i = 0; i < joiners->room; i++) {
        weft_os_close(joiners->list[i].fd);
    }
    weft_os_free(joiners->list);
    *joiners = (weft_root_joiners_t){.list = NULL};
}

weft_root_joiner_t *weft_root_joiners_make(weft_root_joiners_t *joiners)
{
    for (uint32_t i = 0; i < joiners->room; i++) {
        if (joiners->list[i].fd < 0) {
            return &joiners->list[i];
        }
    }
    uint32_t before = joiners->room, room = before > 0 ? 2 * before : JOINERS_FIRST;
    weft_root_joiner_t *list = weft_os_alloc(room * sizeof *list, 0);
    if (list == NULL) {
        return NULL;
    }
    if (before > 0) {
        memcpy(list, joiners->list, before * sizeof *list);
    }
    for (uint32_t i = before; i < room; i++) {
        list[i].fd = -1;
    }
    weft_os_free(joiners->list);
    *joiners = (weft_root_joiners_t){.list = list, .room = room};
    return &list[before];
}

bool weft_root_joiner_lives(const weft_root_joiner_t *joiner)
{
    return joiner->bytes == 1 && joiner->frame[0] == WEFT_CONNECTOR_ALIVE;
}
