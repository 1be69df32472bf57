/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adding up what links hold. */
#include "core/exec/links_memory.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/exec/link_state.h"

static void memory_add_mapped(const weft_links_t *links, const weft_link_t *link,
                              weft_links_memory_t *memory)
{
    const weft_mapped_port_t *send = &link->send.mapped;
    weft_pair_layout_t layout = weft_links_layout(links);
    memory->mapped_links++;
    memory->mapped += layout.bytes;
    if (send->store.pool == NULL) {
        memory->heads += layout.bytes; /* all of it is committed */
        return;
    }
    memory->heads += layout.commit;
    memory->small += send->store.small_ready ? layout.small[1] - layout.small[0] : 0;
}

void weft_links_memory(const weft_links_t *links, weft_links_memory_t *memory)
{
    *memory = (weft_links_memory_t){.mapped_links = 0};
    if (links == NULL) {
        return;
    }
    for (const weft_link_t *link = links->first; link != NULL; link = link->next) {
        memory->records += sizeof *link;
        memory->descriptors += link->conn != NULL;
        if (link->state != WEFT_LINK_READY) {
            continue;
        }
        if (weft_port_is_mapped(&link->send.head)) {
            memory_add_mapped(links, link, memory);
        } else {
            memory->message_links++;
            memory->messages +=
                2 * weft_message_port_bytes(links->setup.fifo.slots, links->setup.fifo.slot_bytes);
        }
    }
    memory->slots = links->pool.committed;
    memory->slots_peak = links->pool.peak;
    memory->given_back = links->pool.given_back;
    memory->pool = links->pool.limit;
}

static void most_add_mapped(const weft_links_setup_t *setup, weft_links_most_t *most)
{
    weft_pair_layout_t layout = weft_pair_layout(&setup->fifo);
    if (setup->fifo.small_bytes == 0) {
        most->heads += layout.bytes;
        return;
    }
    most->heads += layout.commit;
    most->small += layout.small[1] - layout.small[0];
    most->slots += layout.slots[1] - layout.slots[0];
}

void weft_links_most(const weft_links_t *links, weft_links_most_t *most)
{
    *most = (weft_links_most_t){.descriptors = 0};
    if (links == NULL) {
        return;
    }
    const weft_links_setup_t *setup = &links->setup;
    most->descriptors = setup->nranks - 1;
    most->records = (setup->nranks - 1) * sizeof(weft_link_t);
    for (uint32_t peer = 0; peer < setup->nranks; peer++) {
        uint32_t at = weft_transports_index(setup->transports, setup->family[peer]);
        if (peer == setup->rank) {
            continue;
        }
        if (weft_links_transport(links, at)->map != NULL) {
            most_add_mapped(setup, most);
        } else {
            most->messages +=
                2 * weft_message_port_bytes(setup->fifo.slots, setup->fifo.slot_bytes);
        }
    }
    if (links->pool.limit != 0 && links->pool.limit < most->slots) {
        most->slots = links->pool.limit;
    }
}

const char *weft_links_memory_text(const weft_links_memory_t *m, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "%" PRIu32 " mapped links (%" PRIu64 " KiB heads, %" PRIu64 " KiB small, %" PRIu64
             " KiB slots of at most %" PRIu64 ", peak %" PRIu64 ", given back %" PRIu64 "; %" PRIu64
             " KiB mapped), %" PRIu32 " message links (%" PRIu64 " KiB slots), %" PRIu32
             " descriptors",
             m->mapped_links, m->heads >> 10, m->small >> 10, m->slots >> 10, m->pool >> 10,
             m->slots_peak >> 10, m->given_back >> 10, m->mapped >> 10, m->message_links,
             m->messages >> 10, m->descriptors);
    return text;
}
