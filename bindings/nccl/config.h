/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading the configs of callers, who may know fewer fields or more than this library. */
#ifndef BINDINGS_NCCL_CONFIG_H
#define BINDINGS_NCCL_CONFIG_H

#include "bindings/nccl/types.h"

/* Checks a communicator's config, which may be NULL. *blocking_p is left alone where the config
 * says nothing of it. The other fields are hints for NCCL's kernels: they must make sense, and but
 * for maxCTAs are not used. */
ncclResult_t nccl_config_read(const char *call, const ncclConfig_t *config, bool *blocking_p);
/* Whether a config that was checked makes a communicator whose making of others is waited for;
 * where it does not say, it is. */
bool nccl_config_blocking(const ncclConfig_t *config);
/* maxCTAs of a config that was checked, or is NULL; 0: it says nothing of that. */
uint32_t nccl_config_channels(const ncclConfig_t *config);
/* Checks a call's config, which may be NULL. Refuses what the caller insists on and weft cannot
 * do. */
ncclResult_t nccl_coll_config_read(const char *call, const ncclCollConfig_t *config);

#endif
