/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When the root speaks. */
#include "core/boot/join_notice.h"

#include <stdio.h>

#include "core/base/log.h"
#include "core/base/plural.h"
#include "core/os/os.h"

/* Ranks that come one after the other are less than this apart. */
#define FIRST_NS (2 * WEFT_NS_PER_S)
#define LONGEST_NS (60 * WEFT_NS_PER_S)

static void join_notice_write(const weft_root_table_t *table, bool welcomed,
                              char text[WEFT_JOIN_NOTICE_BYTES])
{
    char ranks[256];
    uint32_t first, count = weft_root_missing(table, welcomed, ranks, sizeof ranks, &first);
    const char *plural = weft_plural(count);
    uint32_t come = welcomed ? table->ready : table->nranks - count;
    if (welcomed) {
        snprintf(text, WEFT_JOIN_NOTICE_BYTES,
                 "waiting for rank%s %s to connect to neighbours (%u of %u have)", plural, ranks,
                 come, table->nranks);
    } else {
        snprintf(text, WEFT_JOIN_NOTICE_BYTES, "waiting for rank%s %s (%u of %u joined)", plural,
                 ranks, come, table->nranks);
    }
}

uint64_t weft_join_notice(weft_join_notice_t *notice, const weft_root_table_t *table, bool welcomed,
                          uint64_t now, char text[WEFT_JOIN_NOTICE_BYTES])
{
    uint64_t seen = (uint64_t)table->claimed + table->arrived + table->ready;
    text[0] = '\0';
    if (table->nranks == 0 || table->failure.status != WEFT_OK || table->ready == table->nranks) {
        return WEFT_NEVER;
    }
    if (seen != notice->seen || notice->pause == 0) {
        notice->seen = seen;
        notice->pause = FIRST_NS;
        notice->due = now + FIRST_NS;
    } else if (now >= notice->due) {
        join_notice_write(table, welcomed, text);
        notice->pause = notice->pause * 2 < LONGEST_NS ? notice->pause * 2 : LONGEST_NS;
        notice->due = now + notice->pause;
    }
    return notice->due;
}

uint64_t weft_join_notice_log(weft_join_notice_t *notice, const weft_root_table_t *table,
                              bool welcomed)
{
    char text[WEFT_JOIN_NOTICE_BYTES];
    uint64_t due = weft_join_notice(notice, table, welcomed, weft_os_clock_ns(), text);
    if (text[0] != '\0') {
        weft_log(WEFT_LOG_WARN, "boot", "%s", text);
    }
    return due;
}
