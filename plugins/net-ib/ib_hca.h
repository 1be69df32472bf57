/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adapters and ports of this host: which ones are admitted, open and active, and by which GID
 * they are spoken to. Thread: [control], except that ib_port_gid(), ib_port_path() and
 * ib_port_is_ethernet() are [any]. */
#ifndef WEFT_PLUGINS_NET_IB_HCA_H
#define WEFT_PLUGINS_NET_IB_HCA_H

#include "ib.h"

/* Opens the adapters and adds the ports that the options admit to `net`. What does not serve is
 * left out with a warning. Returns OK, also when there are none; ERR_CONFIG, ERR_RESOURCE or
 * ERR_SYSTEM with the error set. */
weft_status_t ib_ports_open(weft_net_t *net);
void ib_ports_close(weft_net_t *net);

/* Chooses a GID of the port that fits the options and, unless `peer` is NULL, the peer's GID.
 * Returns false if there is none. */
bool ib_port_gid(const ib_port_t *port, const ib_gid_t *peer, ib_gid_t *gid);
bool ib_port_is_ethernet(const ib_port_t *port);

/* Reads the LID and the MTU (enum ibv_mtu) that the port has now: both may change while a job
 * runs. */
void ib_port_path(const ib_port_t *port, uint32_t *lid_p, uint32_t *mtu_p);

/* Appends lines about the port and its GID table to `text`, which holds `bytes`; the chosen GID
 * has a star. What does not fit is left out. */
void ib_port_describe(const ib_port_t *port, char *text, size_t bytes);

#endif
