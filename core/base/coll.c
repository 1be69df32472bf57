/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of collectives. Names, operator and root come from WEFT_COLL_MAP; what a collective's
 * buffers hold depends on its base alone. */
#include "core/base/coll.h"

#include <weft/weft.h>

#define BUFFERS_ALL_REDUCE .in_blocks = false
#define BUFFERS_REDUCE_SCATTER .in_blocks = true
#define BUFFERS_ALL_GATHER .out_blocks = true
#define BUFFERS_BROADCAST .in_at_root = true
#define BUFFERS_REDUCE .out_at_root = true
#define BUFFERS_ALL_TO_ALL .in_blocks = true, .out_blocks = true
#define BUFFERS_GATHER .out_blocks = true, .out_at_root = true
#define BUFFERS_SCATTER .in_blocks = true, .in_at_root = true
#define BUFFERS_SEND_RECV .in_blocks = false

const weft_coll_facts_t weft_coll_table[WEFT_COLL_COUNT] = {
#define FACTS(number, id, text, has_op, has_root, runs)                                            \
    [number] = {.name = text,                                                                      \
                .call = "weft_" text,                                                              \
                .base = WEFT_##runs,                                                               \
                .reduces = has_op,                                                                 \
                .rooted = has_root,                                                                \
                .vectors = WEFT_##runs != WEFT_##id && WEFT_##id != WEFT_BARRIER,                  \
                BUFFERS_##runs},
    WEFT_COLL_MAP(FACTS)
#undef FACTS
};

const char *weft_coll_name(weft_coll_t coll)
{
    return (unsigned)coll < WEFT_COLL_COUNT ? weft_coll_table[coll].name : NULL;
}
