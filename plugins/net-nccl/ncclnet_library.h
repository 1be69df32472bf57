/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding and opening the foreign library. It stays open until the process ends: its threads may
 * outlive its last user. */
#ifndef WEFT_PLUGINS_NCCLNET_LIBRARY_H
#define WEFT_PLUGINS_NCCLNET_LIBRARY_H

#include "ncclnet.h"

/* Opens net->config.library, takes its newest table, checks it, and makes the instance. `name`
 * without a slash that cannot be opened as it is, is also tried as libnccl-net-NAME.so, as NCCL
 * does with NCCL_NET_PLUGIN. Fills library, instance and made. Errors: ERR_CONFIG, ERR_PLUGIN,
 * ERR_SYSTEM, ERR_RESOURCE. */
weft_status_t ncclnet_library_open(weft_net_t *net);
void ncclnet_library_close(weft_net_t *net);

#endif
