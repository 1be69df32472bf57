/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The name of a plugin's kind, and the line about a plugin that cannot be used. */
#include "core/plugin/listed.h"

#include <stddef.h>

#include "core/base/error.h"

const char *weft_plugin_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [WEFT_KIND_NET] = "net",     [WEFT_KIND_ALGO] = "algo", [WEFT_KIND_KERNEL] = "kernel",
        [WEFT_KIND_TUNER] = "tuner", [WEFT_KIND_TOPO] = "topo",
    };
    return kind < sizeof names / sizeof names[0] ? names[kind] : NULL;
}

weft_status_t weft_listed_refuse(const weft_listed_t *listed, const char *reason, const char *found,
                                 const char *expected)
{
    return weft_fail(WEFT_ERR_PLUGIN, 0, "plugin %s: %s: found %s, expected %s (%s, listed by %s)",
                     listed->name != NULL ? listed->name : "?", reason, found, expected,
                     listed->path, listed->origin);
}
