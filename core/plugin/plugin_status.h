/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a function of a plugin returned, before anybody believes it: a status of the list, and a
 * failure with a text of this plugin. */
#ifndef WEFT_PLUGIN_PLUGIN_STATUS_H
#define WEFT_PLUGIN_PLUGIN_STATUS_H

#include "core/os/call_note.h"
#include "core/plugin/loader.h"

/* Which statuses that are not final a function may return: bits. */
enum {
    WEFT_RETURNS_FINAL = 0,
    WEFT_RETURNS_IN_PROGRESS = 1,
    WEFT_RETURNS_AGAIN = 2,
};

/* Returns `status` if `method` of the plugin may return it. Another number becomes ERR_PLUGIN with
 * the number in the text. A failure for which neither this plugin nor the core has just set an
 * error gets one that says so, in place of whatever the thread's record had before. Thread: any. */
weft_status_t weft_plugin_status(const weft_loaded_t *loaded, const char *method, unsigned returns,
                                 weft_status_t status);

#endif
