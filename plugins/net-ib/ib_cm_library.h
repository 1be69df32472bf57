/* SPDX-License-Identifier: BSD-3-Clause
 *
 * librdmacm, which is looked for only when this host has an iWARP port: a host without the
 * library loses nothing else. Thread: [control]. */
#ifndef WEFT_PLUGINS_NET_IB_CM_LIBRARY_H
#define WEFT_PLUGINS_NET_IB_CM_LIBRARY_H

#include "ib.h"

/* Loads the library for this instance into net->cm_calls; a second call does nothing. Returns OK,
 * ERR_UNSUPPORTED (*why_p says what is missing) or ERR_RESOURCE. */
weft_status_t ib_cm_load(weft_net_t *net, const char **why_p);
void ib_cm_unload(weft_net_t *net);

/* Finds the addresses of this host, of either family, that lead over the port. Returns OK or
 * ERR_RESOURCE. */
weft_status_t ib_cm_addresses(ib_port_t *port);

#endif
