/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See wanted_table.h. */
#include "core/comm/wanted_table.h"

#include <string.h>

void weft_wanted_table_add(weft_wanted_table_t *table, const weft_wanted_link_t *link)
{
    const uint32_t count = weft_wanted_table_count(table);
    for (uint32_t i = 0; i < count; i++) {
        const weft_wanted_link_t *other = &table->list[i];
        if (other->comm_id == link->comm_id && other->peer == link->peer &&
            other->number == link->number) {
            return;
        }
    }
    if (count < WEFT_WANTED_LINKS) {
        table->list[count] = *link;
        atomic_store_explicit(&table->count, count + 1, memory_order_relaxed);
    }
}

bool weft_wanted_table_take(weft_wanted_table_t *table, weft_wanted_link_t *link)
{
    const uint32_t count = weft_wanted_table_count(table);
    if (count == 0) {
        return false;
    }
    *link = table->list[0];
    memmove(table->list, table->list + 1, (count - 1) * sizeof table->list[0]);
    atomic_store_explicit(&table->count, count - 1, memory_order_relaxed);
    return true;
}
