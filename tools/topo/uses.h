/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the loaded plugins say of the machine's devices. */
#ifndef WEFT_TOPO_USES_H
#define WEFT_TOPO_USES_H

#include "tools/session.h"
#include "tools/topo/topo.h"

/* What: asks all net and kernel plugins of the session. A plugin that cannot be used becomes a
 * trouble. Failure: ERR_RESOURCE. */
weft_status_t topo_use_plugins(topo_t *topo, const tool_session_t *session);

/* What: adds one device; finds its GPU or NIC by address, or by the name that the system gives it.
 * Failure: ERR_RESOURCE. */
weft_status_t topo_use_add(topo_t *topo, const topo_use_t *use);

/* What: `to` lies behind a path past PCIe from `from`, both devices of kernel plugin `plugin`; its
 * bandwidth is not known. Failure: ERR_RESOURCE, ERR_ARG for more links than a machine has. */
weft_status_t topo_use_reach(topo_t *topo, const char *plugin, uint32_t from, uint32_t to);

/* What: frees the machine and all that was added. */
void topo_close(topo_t *topo);

#endif
