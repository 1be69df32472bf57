/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables that the library exports: ncclNetPlugin_v8 to ncclNetPlugin_v12. offer_table.inc is
 * compiled once per version. */
#ifndef WEFT_BINDINGS_NCCL_NET_TABLES_H
#define WEFT_BINDINGS_NCCL_NET_TABLES_H

#include <weft/sdk/nccl_net.h>

extern weft_nccl_net_v8_t ncclNetPlugin_v8;
extern weft_nccl_net_v9_t ncclNetPlugin_v9;
extern weft_nccl_net_v10_t ncclNetPlugin_v10;
extern weft_nccl_net_v11_t ncclNetPlugin_v11;
extern weft_nccl_net_v12_t ncclNetPlugin_v12;

#endif
