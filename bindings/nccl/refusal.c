/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The refused functions. */
#include "bindings/nccl/refusal.h"

#include "bindings/nccl/debug.h"
#include "bindings/nccl/errors.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/refused.h"

ncclResult_t nccl_refuse(const char *call, const char *reason)
{
    nccl_debug_refused(call);
    return nccl_fail(ncclInvalidUsage, "%s is not offered by weft: %s", call, reason);
}

/* Whatever the callers' arguments are: none is looked at, and C lets the caller take them back. */
#define REFUSED_DEFINE(name, reason)                                                               \
    static ncclResult_t refused_##name(void)                                                       \
    {                                                                                              \
        return nccl_refuse(#name, reason);                                                         \
    }                                                                                              \
    extern NCCL_EXPORT ncclResult_t name(void) __attribute__((alias("refused_" #name)));           \
    extern NCCL_EXPORT ncclResult_t p##name(void) __attribute__((alias("refused_" #name)));
NCCL_REFUSED_MAP(REFUSED_DEFINE)

/* These two have no result that could tell. */
NCCL_EXPORT int ncclLLA2ACalcSlots(void);
NCCL_EXPORT int ncclLLA2ACalcSlots(void)
{
    nccl_refuse(__func__, NCCL_REFUSED_DEVICE);
    return 0;
}
NCCL_TWIN(ncclLLA2ACalcSlots);

NCCL_EXPORT void ncclParamDumpAll(void);
NCCL_EXPORT void ncclParamDumpAll(void)
{
    nccl_refuse(__func__, NCCL_REFUSED_PARAM);
}
NCCL_TWIN(ncclParamDumpAll);
