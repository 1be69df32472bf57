/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The 128 bytes that NCCL carries from listen() to connect(). connect() gets the same bytes each
 * time and keeps its state in them, once it has read them. */
#ifndef WEFT_BINDINGS_NCCL_NET_HANDLE_H
#define WEFT_BINDINGS_NCCL_NET_HANDLE_H

#include <weft/plugin/net.h>
#include <weft/sdk/nccl_net.h>

#include "offer_auth.h"

/* Writes the address of a listener and the secret of this process. Of a long address the best ways
 * stay. Returns a result: it may be too long for even one. */
int offer_handle_write(void *handle, weft_net_address_t *address);

/* Reads a handle. Returns a result. */
int offer_handle_read(const void *handle, weft_net_address_t *address,
                      uint8_t secret[OFFER_SECRET]);

/* The state that a handle keeps, or NULL. */
void offer_handle_keep(void *handle, void *state);
void *offer_handle_kept(const void *handle);

#endif
