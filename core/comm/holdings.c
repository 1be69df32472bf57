/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adding up what a rank holds. */
#include "core/comm/holdings.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/boot/boot_memory.h"
#include "core/exec/arena.h"
#include "core/exec/links_memory.h"
#include "core/plan/plan_cache.h"

static const char *const holding_names[WEFT_HOLDING_COUNT] = {
    [WEFT_HOLDING_CONTROL] = "control connections",
    [WEFT_HOLDING_LINKS] = "links",
    [WEFT_HOLDING_SMALL] = "small areas",
    [WEFT_HOLDING_SLOTS] = "slots",
    [WEFT_HOLDING_MESSAGES] = "message slots",
    [WEFT_HOLDING_ARENA] = "arena",
    [WEFT_HOLDING_PROGRAMS] = "programs",
    [WEFT_HOLDING_WORKSPACE] = "workspace",
    [WEFT_HOLDING_PLANS] = "plans",
    [WEFT_HOLDING_EVENTS] = "event log",
    [WEFT_HOLDING_HISTORY] = "history",
    [WEFT_HOLDING_TABLES] = "tables",
};

const char *weft_holding_name(weft_holding_kind_t kind)
{
    return holding_names[kind];
}

static void holdings_set(weft_holdings_t *holdings, weft_holding_kind_t kind, uint64_t bytes,
                         uint64_t limit)
{
    holdings->kind[kind].bytes = bytes;
    holdings->kind[kind].limit = limit;
}

static void holdings_take_links(const weft_comm_state_t *state, weft_holdings_t *holdings)
{
    weft_links_memory_t now;
    weft_links_most_t most;
    weft_links_memory(state->links, &now);
    weft_links_most(state->links, &most);
    holdings_set(holdings, WEFT_HOLDING_LINKS, now.heads + now.records, most.heads + most.records);
    holdings->kind[WEFT_HOLDING_LINKS].descriptors = now.descriptors;
    holdings->kind[WEFT_HOLDING_LINKS].descriptors_limit = most.descriptors;
    holdings_set(holdings, WEFT_HOLDING_SMALL, now.small, most.small);
    holdings_set(holdings, WEFT_HOLDING_SLOTS, now.slots, most.slots);
    holdings_set(holdings, WEFT_HOLDING_MESSAGES, now.messages, most.messages);
}

static void holdings_take_boot(const weft_comm_state_t *state, weft_holdings_t *holdings)
{
    const weft_family_t *family = state->self.family;
    weft_boot_memory_t boot;
    weft_boot_memory(family->boot, &boot);
    holdings_set(holdings, WEFT_HOLDING_CONTROL, boot.control, WEFT_HOLDING_UNBOUNDED);
    holdings->kind[WEFT_HOLDING_CONTROL].descriptors = boot.descriptors;
    holdings->kind[WEFT_HOLDING_CONTROL].descriptors_limit = boot.descriptors_limit;
    holdings_set(holdings, WEFT_HOLDING_EVENTS, boot.events, boot.events_limit);
    uint64_t n = state->self.nranks;
    uint64_t queues = n * weft_p2p_bytes_per_rank();
    uint64_t tables = boot.tables + n * sizeof *state->peers + weft_identity_bytes(&state->self);
    tables += weft_job_bytes(&family->job);
    tables += family->transports != NULL ? weft_transports_table_bytes(family->transports) : 0;
    tables += state->windows.puts != NULL ? n * weft_puts_bytes_per_rank() : 0;
    holdings_set(holdings, WEFT_HOLDING_TABLES, tables + (state->p2p.queues != NULL ? queues : 0),
                 tables + queues);
}

void weft_holdings_take(const weft_comm_state_t *state, weft_holdings_t *holdings)
{
    uint64_t room = 0;
    *holdings = (weft_holdings_t){.kind = {{0}}};
    holdings_take_links(state, holdings);
    holdings_take_boot(state, holdings);
    uint64_t arena = weft_arena_bytes(&room);
    holdings_set(holdings, WEFT_HOLDING_ARENA, arena, WEFT_HOLDING_UNBOUNDED);
    holdings_set(holdings, WEFT_HOLDING_PROGRAMS, state->programs.bytes, state->programs.limit);
    holdings_set(holdings, WEFT_HOLDING_WORKSPACE, weft_workspace_bytes(&state->programs.workspace),
                 WEFT_HOLDING_UNBOUNDED);
    holdings_set(holdings, WEFT_HOLDING_PLANS, weft_plan_cache_bytes(), WEFT_HOLDING_UNBOUNDED);
    holdings_set(holdings, WEFT_HOLDING_HISTORY, sizeof *state->flight, sizeof *state->flight);
}

/* Kinds of which the rank holds nothing are left out. */
static void holdings_text(const weft_holdings_t *holdings, char *text, size_t bytes)
{
    uint64_t sum = 0;
    uint32_t descriptors = 0;
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < WEFT_HOLDING_COUNT; i++) {
        const weft_holding_t *holding = &holdings->kind[i];
        sum += holding->bytes;
        descriptors += holding->descriptors;
        if (holding->bytes > 0 && at < bytes) {
            at += (size_t)snprintf(text + at, bytes - at, "%s %" PRIu64 ", ", holding_names[i],
                                   (holding->bytes + 1023) / 1024);
        }
    }
    if (at < bytes) {
        snprintf(text + at, bytes - at, "together %" PRIu64 " KiB, %" PRIu32 " file descriptors",
                 (sum + 1023) / 1024, descriptors);
    }
}

void weft_holdings_log(const weft_comm_state_t *state, const char *when)
{
    char text[512];
    weft_links_memory_t links;
    weft_holdings_t holdings;
    if (weft_log_level() < WEFT_LOG_INFO || state->links == NULL) {
        return;
    }
    weft_links_memory(state->links, &links);
    weft_log(WEFT_LOG_INFO, "memory", "rank %" PRIu32 " %s: %s", state->self.rank, when,
             weft_links_memory_text(&links, text, sizeof text));
    weft_holdings_take(state, &holdings);
    holdings_text(&holdings, text, sizeof text);
    weft_log(WEFT_LOG_INFO, "memory", "rank %" PRIu32 " %s holds, in KiB: %s", state->self.rank,
             when, text);
}
