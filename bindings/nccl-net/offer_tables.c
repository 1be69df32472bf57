/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See offer_tables.h. */
#include "offer_tables.h"

#include <string.h>

#include "offer.h"
#include "offer_comm.h"
#include "offer_props.h"
#include "offer_request.h"

static int table_devices(int *count)
{
    *count = (int)offer_get()->ndevices;
    return WEFT_NCCL_SUCCESS;
}

/* `offload` points to a handle if NCCL wants the GPU to drive the connection. */
static bool table_has_no_offload(void **offload)
{
    if (offload == NULL || *offload == NULL) {
        return true;
    }
    (void)offer_refuse(0, "a connection that a GPU drives was asked for; there is none");
    return false;
}

static int table_accept(void *listening, void **comm, void **offload)
{
    return table_has_no_offload(offload) ? offer_accept(listening, comm) : WEFT_NCCL_INVALID_USAGE;
}

/* The transport stays until the process ends. */
static int table_finalize(void *instance)
{
    (void)instance;
    return WEFT_NCCL_SUCCESS;
}

/* clang-format off */
#define VERSION 8
#define NET weft_nccl_net_v8_t
#define PROPS weft_nccl_props_v8_t
#define TABLE ncclNetPlugin_v8
#define NAME(x) table_v8_##x
#include "offer_table.inc"

#define VERSION 9
#define NET weft_nccl_net_v9_t
#define PROPS weft_nccl_props_v9_t
#define TABLE ncclNetPlugin_v9
#define NAME(x) table_v9_##x
#include "offer_table.inc"

#define VERSION 10
#define NET weft_nccl_net_v10_t
#define PROPS weft_nccl_props_v10_t
#define TABLE ncclNetPlugin_v10
#define NAME(x) table_v10_##x
#include "offer_table.inc"

#define VERSION 11
#define NET weft_nccl_net_v11_t
#define PROPS weft_nccl_props_v11_t
#define TABLE ncclNetPlugin_v11
#define NAME(x) table_v11_##x
#include "offer_table.inc"

#define VERSION 12
#define NET weft_nccl_net_v12_t
#define PROPS weft_nccl_props_v12_t
#define TABLE ncclNetPlugin_v12
#define NAME(x) table_v12_##x
#include "offer_table.inc"

/* clang-format on */
