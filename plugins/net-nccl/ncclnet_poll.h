/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posting, and progress of a device. */
#ifndef WEFT_PLUGINS_NCCLNET_POLL_H
#define WEFT_PLUGINS_NCCLNET_POLL_H

#include "ncclnet.h"

/* poll and post of net.h. */
weft_status_t ncclnet_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                           uint32_t max, uint32_t *count_p);
weft_status_t ncclnet_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                           uint32_t *posted_p);

#endif
