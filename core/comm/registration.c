/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that the user registered. */
#include "core/comm/registration.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/exec/link_adapters.h"

/* One registration: a region per transport that registers memory. */
struct weft_mem_region {
    weft_mem_region_t *next;
    weft_net_region_t *region[WEFT_TRANSPORTS_MAX];
};

static void registration_free(weft_links_t *links, weft_mem_region_t *region)
{
    for (uint32_t i = 0; i < WEFT_TRANSPORTS_MAX; i++) {
        if (region->region[i] != NULL) {
            weft_links_dereg(links, i, region->region[i]);
        }
    }
    weft_os_free(region);
}

weft_status_t weft_registration_add(weft_mem_region_t **list, weft_links_t *links,
                                    uint32_t transports, void *memory, uint64_t bytes,
                                    weft_mem_region_t **region_p)
{
    weft_status_t status = WEFT_OK;
    weft_mem_region_t *region = weft_os_alloc(sizeof *region, 0);
    if (region == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_mem_register");
    }
    for (uint32_t i = 0; i < transports && status == WEFT_OK; i++) {
        status = weft_links_reg(links, i, memory, bytes, &region->region[i]);
    }
    if (status != WEFT_OK) {
        registration_free(links, region);
        return status;
    }
    region->next = *list;
    *list = *region_p = region;
    return WEFT_OK;
}

bool weft_registration_remove(weft_mem_region_t **list, weft_links_t *links,
                              weft_mem_region_t *region)
{
    while (*list != NULL && *list != region) {
        list = &(*list)->next;
    }
    if (*list == NULL) {
        return false;
    }
    *list = region->next;
    registration_free(links, region);
    return true;
}

void weft_registration_remove_all(weft_mem_region_t **list, weft_links_t *links)
{
    while (*list != NULL) {
        weft_registration_remove(list, links, *list);
    }
}
