/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch over plugins that do not return. */
#include "tools/patience.h"

#include <unistd.h>

#include "core/os/call_note.h"
#include "core/os/os.h"
#include "tools/values.h"

#define LOOK_NS (100 * WEFT_NS_PER_MS)

bool tool_patience_read(const char *text, int64_t *seconds_p)
{
    return tool_parse_integer("--patience", text, 0, TOOL_PATIENCE_MOST, seconds_p);
}

/* The time in which this thread could look: a process that was stopped goes on where it was. */
static uint64_t patience_look_again(uint64_t passed)
{
    uint64_t before = weft_os_clock_ns();
    weft_os_sleep_ns(LOOK_NS);
    uint64_t slept = weft_os_clock_ns() - before;
    return passed + (slept < 2 * LOOK_NS ? slept : 2 * LOOK_NS);
}

static void patience_watch(void *arg)
{
    uint64_t most = (uintptr_t)arg * WEFT_NS_PER_S, passed = 1, lasted;
    weft_call_watch_t watch = {.number = {0}};
    weft_call_note_t note;
    for (;;) {
        uint32_t index = 0;
        if (weft_call_watch_next(&watch, &index, passed, most, &note, &lasted)) {
            fprintf(
                stderr,
                "weft: %s has been inside %s for %.3g s and does not return; --patience sets the "
                "limit\n",
                note.plugin, note.method, (double)lasted / 1e9);
            _exit(TOOL_TIMEOUT);
        }
        passed = patience_look_again(passed);
    }
}

void tool_patience_start(int64_t seconds)
{
    if (seconds > 0) {
        /* Without a thread it is as if there were no limit. */
        (void)weft_os_thread_launch("weft-patience", patience_watch, (void *)(uintptr_t)seconds);
    }
}
