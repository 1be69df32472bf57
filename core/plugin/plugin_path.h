/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a file may be loaded. Private to core/plugin. */
#ifndef WEFT_PLUGIN_PATH_H
#define WEFT_PLUGIN_PATH_H

#include <stdbool.h>

#include "core/plugin/listed.h"

/* Cuts the last component. Returns false at the root. */
bool weft_path_parent(char *path);
bool weft_path_has_dot_dot(const char *path);

/* Checks that the file may be loaded: absolute path, exists, right owner and permissions.
 * ERR_PLUGIN. */
weft_status_t weft_listed_trust(const weft_listed_t *listed);

#endif
