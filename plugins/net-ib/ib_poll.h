/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a device. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_POLL_H
#define WEFT_PLUGINS_NET_IB_POLL_H

#include "ib.h"

/* weft_net_ops_t.poll, .wait_fd and .conn_check. */
weft_status_t ib_poll(weft_net_device_t *device, weft_net_completion_t *completions, uint32_t max,
                      uint32_t *count_p);
weft_status_t ib_wait_fd(weft_net_device_t *device, int *fd_p);
weft_status_t ib_conn_check(weft_net_conn_t *conn);

#endif
