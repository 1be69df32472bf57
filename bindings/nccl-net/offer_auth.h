/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The secret of connections. weft's transports authenticate with the secret of a job, of which
 * NCCL knows nothing: each process makes one of its own, and the handles of its listeners carry
 * it. A connector uses the secret of the handle. Who sees NCCL's handles can connect, as with
 * NCCL's own. */
#ifndef WEFT_BINDINGS_NCCL_NET_AUTH_H
#define WEFT_BINDINGS_NCCL_NET_AUTH_H

#include <weft/plugin/host.h>

#define OFFER_SECRET 12u /* bytes of it in a handle */

/* The host for the transport: `host` with an authentication service of this kind. */
const weft_host_t *offer_auth_host(const weft_host_t *host);

/* The secret of this process, for its handles. */
weft_status_t offer_auth_secret(uint8_t secret[OFFER_SECRET]);

/* Makes the thread's next handshakes those of a connector with that secret, until it is given
 * NULL. */
void offer_auth_use(const uint8_t *secret);

#endif
