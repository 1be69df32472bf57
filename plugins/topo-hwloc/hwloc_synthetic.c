/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of a synthetic description. */
#include "hwloc_synthetic.h"

#include <stdlib.h>
#include <string.h>

static weft_status_t hwloc_synthetic_refuse(const weft_host_t *host, const char *what,
                                            uint32_t most)
{
    return host->set_error(host, WEFT_ERR_CONFIG, 0, "synthetic: more than %u %s", most, what);
}

/* What is behind the next `end`, or NULL: hwloc refuses a text without it. */
static const char *hwloc_synthetic_behind(const char *at, char end)
{
    at = strchr(at, end);
    return at != NULL ? at + 1 : NULL;
}

/* Takes a level, as hwloc does: "type:count", with attributes in parentheses, or memory in
 * brackets. No blank is needed between two, and what stands between the begin of a type and its
 * colon is not looked at. Returns what is behind it, or NULL. */
static const char *hwloc_synthetic_level(const char *at, uint64_t *count_p)
{
    char *end = NULL;
    *count_p = 1;
    if (*at == '[') {
        return hwloc_synthetic_behind(at, ']');
    }
    if (*at < '0' || *at > '9') {
        at = hwloc_synthetic_behind(at, ':');
    }
    if (at == NULL) {
        return NULL;
    }
    const unsigned long number = strtoul(at, &end, 0);
    *count_p = number == 0 ? 1 : number <= HWLOC_SYNTHETIC_PUS_MAX ? number : UINT32_MAX;
    return end == at ? NULL : *end == '(' ? hwloc_synthetic_behind(end, ')') : end;
}

weft_status_t hwloc_synthetic_check(const weft_host_t *host, const char *text)
{
    uint64_t things = 1, count;
    uint32_t levels = 0;
    if (strlen(text) > HWLOC_SYNTHETIC_BYTES_MAX) {
        return hwloc_synthetic_refuse(host, "characters", HWLOC_SYNTHETIC_BYTES_MAX);
    }
    text = *text == '(' ? hwloc_synthetic_behind(text, ')') : text; /* of the machine */
    while (text != NULL && *(text += strspn(text, " \t\n")) != '\0') {
        text = hwloc_synthetic_level(text, &count);
        things *= count;
        if (things > HWLOC_SYNTHETIC_PUS_MAX) {
            return hwloc_synthetic_refuse(host, "PUs", HWLOC_SYNTHETIC_PUS_MAX);
        }
        if (++levels > HWLOC_SYNTHETIC_LEVELS_MAX) {
            return hwloc_synthetic_refuse(host, "levels", HWLOC_SYNTHETIC_LEVELS_MAX);
        }
    }
    return WEFT_OK;
}
