/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See link_adapters.h. */
#include "core/exec/link_adapters.h"

#include "core/base/error.h"
#include "core/exec/link_state.h"

weft_status_t weft_links_open_adapter(weft_links_t *links, uint32_t i)
{
    const weft_transport_t *transport = weft_links_transport(links, i);
    weft_status_t status = WEFT_OK;
    if (links->adapter[i] != NULL) {
        return WEFT_OK;
    }
    if (!weft_links_shares_adapter(transport)) {
        weft_transports_lock(links->setup.transports);
        status = transport->ops->device_open(transport->net, transport->device, &links->adapter[i]);
        weft_transports_unlock(links->setup.transports);
    } else if (transport->map != NULL || links->setup.first) {
        links->adapter[i] = transport->adapter;
    } else {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                         "%s serves one communicator only: it lacks the extension " WEFT_NET_ATTACH,
                         transport->loaded->plugin->name);
    }
    return status;
}

void weft_links_close_adapters(weft_links_t *links)
{
    for (uint32_t i = 0; i < weft_transports_count(links->setup.transports); i++) {
        const weft_transport_t *transport = weft_links_transport(links, i);
        if (links->adapter[i] != NULL && links->adapter[i] != transport->adapter) {
            weft_transports_lock(links->setup.transports);
            transport->ops->device_close(links->adapter[i]);
            weft_transports_unlock(links->setup.transports);
        }
    }
}

weft_status_t weft_links_reg(weft_links_t *links, uint32_t i, void *memory, uint64_t bytes,
                             weft_net_region_t **region_p)
{
    const weft_transport_t *transport = weft_links_transport(links, i);
    if (transport->adapter == NULL || !WEFT_HAS(transport->ops, weft_net_ops_t, reg) ||
        !WEFT_HAS(transport->ops, weft_net_ops_t, dereg)) {
        return WEFT_OK;
    }
    weft_status_t status = weft_links_open_adapter(links, i);
    if (status == WEFT_OK) {
        weft_transports_lock(links->setup.transports);
        status = transport->ops->reg(links->adapter[i], memory, bytes, WEFT_MEMORY_HOST, region_p);
        weft_transports_unlock(links->setup.transports);
    }
    return status;
}

void weft_links_dereg(weft_links_t *links, uint32_t i, weft_net_region_t *region)
{
    weft_transports_lock(links->setup.transports);
    weft_links_transport(links, i)->ops->dereg(region);
    weft_transports_unlock(links->setup.transports);
}
