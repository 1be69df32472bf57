/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The index of links. The chains double when there are as many nodes as chains. */
#include "core/exec/link_table.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/assert.h"
#include "core/os/os.h"

#define LEAST_CHAINS 8u

/* Multiplication by 2^64 over the golden ratio spreads small numbers over the upper bits. */
static weft_link_node_t **table_chain(const weft_link_table_t *table, uint32_t peer,
                                      uint32_t channel)
{
    uint64_t key = (uint64_t)peer << 32 | channel;
    uint64_t hash = (key ^ key >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return &table->chains[hash >> 32 & (table->nchains - 1)];
}

weft_link_node_t *weft_link_table_find(const weft_link_table_t *table, uint32_t peer,
                                       uint32_t channel)
{
    if (table->nchains == 0) {
        return NULL;
    }
    weft_link_node_t *node = *table_chain(table, peer, channel);
    while (node != NULL && (node->peer != peer || node->channel != channel)) {
        node = node->next;
    }
    return node;
}

static void table_insert(weft_link_table_t *table, weft_link_node_t *node)
{
    weft_link_node_t **chain = table_chain(table, node->peer, node->channel);
    node->next = *chain;
    *chain = node;
}

static weft_status_t table_grow(weft_link_table_t *table)
{
    weft_link_table_t old = *table;
    uint32_t nchains = old.nchains > 0 ? 2 * old.nchains : LEAST_CHAINS;
    weft_link_node_t **chains = weft_os_alloc(nchains * sizeof *chains, 0);
    if (chains == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate an index of %u links",
                         nchains);
    }
    table->chains = chains;
    table->nchains = nchains;
    for (uint32_t i = 0; i < old.nchains; i++) {
        while (old.chains[i] != NULL) {
            weft_link_node_t *node = old.chains[i];
            old.chains[i] = node->next;
            table_insert(table, node);
        }
    }
    weft_os_free(old.chains);
    return WEFT_OK;
}

weft_status_t weft_link_table_add(weft_link_table_t *table, weft_link_node_t *node)
{
    weft_assert(weft_link_table_find(table, node->peer, node->channel) == NULL);
    weft_status_t status = table->count == table->nchains ? table_grow(table) : WEFT_OK;
    if (status == WEFT_OK) {
        table_insert(table, node);
        table->count++;
    }
    return status;
}

void weft_link_table_fini(weft_link_table_t *table)
{
    weft_os_free(table->chains);
    *table = (weft_link_table_t){.chains = NULL};
}
