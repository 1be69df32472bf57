/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `weft info` tells of kernel plugins: the variant, and the devices that they compute on. */
#ifndef WEFT_TOOLS_INFO_KERNEL_H
#define WEFT_TOOLS_INFO_KERNEL_H

#include "tools/json.h"
#include "tools/session.h"

/* What a kernel plugin and its devices say of themselves. */
void info_kernel(json_t *json, const weft_loaded_t *loaded);
/* A plugin that cannot start is part of the answer, not a failure of `weft info`: one line with the
 * text of the thread's error record. */
void info_trouble(json_t *json, weft_status_t status);

#endif
