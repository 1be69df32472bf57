/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of a synthetic description: words "type:count", with attributes in parentheses and
 * memory of its own in brackets. */
#include "hwloc_synthetic.h"

#include <stdlib.h>
#include <string.h>

static weft_status_t hwloc_synthetic_refuse(const weft_host_t *host, const char *what,
                                            uint32_t most)
{
    return host->set_error(host, WEFT_ERR_CONFIG, 0, "synthetic: more than %u %s", most, what);
}

/* How many parentheses and brackets are open behind a character. One that closes none is nothing. */
static int hwloc_synthetic_depth(int depth, char c)
{
    return c == '(' || c == '['                  ? depth + 1
           : (c == ')' || c == ']') && depth > 0 ? depth - 1
                                                 : depth;
}

/* The end of a word: what stands in parentheses and brackets belongs to it. */
static const char *hwloc_synthetic_end(const char *at)
{
    int depth = 0;
    for (; *at != '\0' && (depth > 0 || strchr(" \t\n", *at) == NULL); at++) {
        depth = hwloc_synthetic_depth(depth, *at);
    }
    return at;
}

/* How many of its last level a word makes in each of the level above; 1 for memory in brackets. Adds the
 * number of its levels to *levels. hwloc needs no blank between two: "package:2core:8" is 16. */
static uint64_t hwloc_synthetic_count(const char *word, const char *end, uint32_t *levels)
{
    uint64_t count = 1;
    uint32_t numbers = 0;
    int depth = 0;
    bool first = true;
    for (const char *at = word; at < end && count <= HWLOC_SYNTHETIC_PUS_MAX; at++) {
        depth = hwloc_synthetic_depth(depth, *at);
        if (depth == 0 && (*at == ':' || (first && *at >= '0' && *at <= '9'))) {
            const unsigned long number = strtoul(at + (*at == ':'), NULL, 0);
            count *= number == 0 ? 1 : number <= HWLOC_SYNTHETIC_PUS_MAX ? number : UINT32_MAX;
            numbers++;
        }
        first = false;
    }
    *levels += numbers > 0 ? numbers : 1;
    return count;
}

weft_status_t hwloc_synthetic_check(const weft_host_t *host, const char *text)
{
    uint64_t things = 1;
    uint32_t levels = 0;
    if (strlen(text) > HWLOC_SYNTHETIC_BYTES_MAX) {
        return hwloc_synthetic_refuse(host, "characters", HWLOC_SYNTHETIC_BYTES_MAX);
    }
    for (text += strspn(text, " \t\n"); *text != '\0'; text += strspn(text, " \t\n")) {
        const char *end = hwloc_synthetic_end(text);
        things *= hwloc_synthetic_count(text, end, &levels);
        if (things > HWLOC_SYNTHETIC_PUS_MAX) {
            return hwloc_synthetic_refuse(host, "PUs", HWLOC_SYNTHETIC_PUS_MAX);
        }
        if (levels > HWLOC_SYNTHETIC_LEVELS_MAX) {
            return hwloc_synthetic_refuse(host, "levels", HWLOC_SYNTHETIC_LEVELS_MAX);
        }
        text = end;
    }
    return WEFT_OK;
}
