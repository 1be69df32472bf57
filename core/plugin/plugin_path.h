/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a file may be loaded. Private to core/plugin. */
#ifndef WEFT_PLUGIN_PATH_H
#define WEFT_PLUGIN_PATH_H

#include <stdbool.h>

#include "core/os/os_path.h"
#include "core/plugin/listed.h"

/* Cuts the last component. Returns false at the root. */
bool weft_path_parent(char *path);
bool weft_path_has_dot_dot(const char *path);

/* Tells why files of a folder, or of none, may not be loaded: somebody else could exchange them.
 * NULL: they may. */
const char *weft_path_folder_doubt(const weft_os_file_t *folder);

/* Checks that the file may be loaded: absolute path, exists, right owner and permissions, in a
 * folder where nobody else can exchange it. Writes the path without links; whoever made a link may
 * lead it elsewhere, so this is the one to load. ERR_PLUGIN. */
weft_status_t weft_listed_trust(const weft_listed_t *listed, char real[WEFT_OS_PATH_MAX]);

#endif
