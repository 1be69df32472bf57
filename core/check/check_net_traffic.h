/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of a net plugin under core.check. Behind each message the layer sends a digest of its
 * own: number, length and checksum. So a message that is lost, doubled, exchanged, cut or changed
 * on its way is seen when the next one comes, whoever reads it. */
#ifndef WEFT_CHECK_CHECK_NET_TRAFFIC_H
#define WEFT_CHECK_CHECK_NET_TRAFFIC_H

#include "core/check/check_net_state.h"

/* Slots of the table that the core calls. */
weft_status_t weft_check_net_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                  uint32_t *posted_p);
weft_status_t weft_check_net_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                                  uint32_t max, uint32_t *count_p);

/* The table of WEFT_NET_PAYLOAD that the core gets. */
extern const weft_net_payload_t weft_check_net_payload;

/* Frees the memory of the digests. The connection of the plugin is closed. */
void weft_check_net_end(weft_net_conn_t *conn);

#endif
