/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shims of all versions. */
#include "ncclnet_shim.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* What a library would tell a profiler is not asked for. */
static int shim_profile(void **event, int type, void *parent, int64_t plugin, void *data)
{
    (void)type;
    (void)parent;
    (void)plugin;
    (void)data;
    if (event != NULL) {
        *event = NULL;
    }
    return WEFT_NCCL_SUCCESS;
}

/* The include may not be formatted away from its definitions. */
/* clang-format off */
#define VERSION 6
#define TABLE weft_nccl_net_v6_t
#define PROPS weft_nccl_props_v6_t
#define NAME(x) shim_v6_##x
#define SYMBOL "ncclNetPlugin_v6"
#include "ncclnet_shim.inc"

#define VERSION 7
#define TABLE weft_nccl_net_v7_t
#define PROPS weft_nccl_props_v7_t
#define NAME(x) shim_v7_##x
#define SYMBOL "ncclNetPlugin_v7"
#include "ncclnet_shim.inc"

#define VERSION 8
#define TABLE weft_nccl_net_v8_t
#define PROPS weft_nccl_props_v8_t
#define NAME(x) shim_v8_##x
#define SYMBOL "ncclNetPlugin_v8"
#include "ncclnet_shim.inc"

#define VERSION 9
#define TABLE weft_nccl_net_v9_t
#define PROPS weft_nccl_props_v9_t
#define NAME(x) shim_v9_##x
#define SYMBOL "ncclNetPlugin_v9"
#include "ncclnet_shim.inc"

#define VERSION 10
#define TABLE weft_nccl_net_v10_t
#define PROPS weft_nccl_props_v10_t
#define NAME(x) shim_v10_##x
#define SYMBOL "ncclNetPlugin_v10"
#include "ncclnet_shim.inc"

#define VERSION 11
#define TABLE weft_nccl_net_v11_t
#define PROPS weft_nccl_props_v11_t
#define NAME(x) shim_v11_##x
#define SYMBOL "ncclNetPlugin_v11"
#include "ncclnet_shim.inc"

#define VERSION 12
#define TABLE weft_nccl_net_v12_t
#define PROPS weft_nccl_props_v12_t
#define NAME(x) shim_v12_##x
#define SYMBOL "ncclNetPlugin_v12"
#include "ncclnet_shim.inc"

/* clang-format on */
const ncclnet_shim_t *const ncclnet_shims[NCCLNET_SHIMS] = {
    &shim_v12_shim, &shim_v11_shim, &shim_v10_shim, &shim_v9_shim,
    &shim_v8_shim,  &shim_v7_shim,  &shim_v6_shim,
};
