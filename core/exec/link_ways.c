/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See link_ways.h. */
#include "core/exec/link_ways.h"

#include <string.h>

uint32_t weft_link_number(const weft_link_ways_t *ways, uint32_t rank, uint32_t peer,
                          uint32_t number)
{
    uint32_t way = number >> WEFT_LINK_WAY_SHIFT;
    if (way == 0 || ways->host == NULL || ways->host[peer] == ways->host[rank]) {
        return weft_link_without_way(number);
    }
    bool down = (way & WEFT_PLAN_WAY_CHAIN) == 0 && peer < rank;
    return down ? number ^ WEFT_LINK_WAY_UP : number;
}

const char *weft_link_nic(const weft_link_ways_t *ways, uint32_t rank, uint32_t peer,
                          uint32_t number)
{
    uint32_t way = (number & ~WEFT_LINK_WAY_UP) >> WEFT_LINK_WAY_SHIFT;
    uint32_t order = way & WEFT_PLAN_WAY_ORDER_MASK;
    if (order == 0) {
        return NULL;
    }
    bool up = (number & WEFT_LINK_WAY_UP) != 0, leaves = up == (rank < peer);
    return (way & WEFT_PLAN_WAY_CHAIN) != 0 ? ways->chain[order - 1]
                                            : ways->ring[order - 1][leaves];
}

bool weft_link_is_nic(const char *device, const char *words)
{
    size_t whole = strlen(device), name = strcspn(device, ":");
    bool first_port = strcmp(device + name, ":1") == 0;
    while (*words != '\0') {
        size_t bytes = strcspn(words, " ");
        if (strncmp(words, device, bytes) == 0 &&
            (bytes == whole || (bytes == name && first_port))) {
            return bytes > 0;
        }
        words += bytes + (words[bytes] == ' ' ? 1 : 0);
    }
    return false;
}
