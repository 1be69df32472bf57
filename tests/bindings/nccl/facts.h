/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of NCCL's API, named once for two files: one includes the binding's own types, the other
 * an nccl.h of NVIDIA. X(name, value). An older header has fewer of them. */
#ifndef TESTS_BINDINGS_NCCL_FACTS_H
#define TESTS_BINDINGS_NCCL_FACTS_H

#include <stddef.h>

typedef struct fact {
    const char *name;
    long long value;
} fact_t;

extern const fact_t facts_own[], facts_of_header[];
extern const int facts_header_version; /* NCCL_VERSION_CODE of that nccl.h */

#define FACT(value) {#value, (long long)(value)},
#define FACT_FIELD(field) {"config." #field, (long long)offsetof(ncclConfig_t, field)},

/* Results, types and operators; fields of the config. 2.28 is the oldest header that has all of
 * them. */
#define FACTS                                                                                      \
    FACT(sizeof(ncclUniqueId))                                                                     \
    FACT(sizeof(ncclResult_t))                                                                     \
    FACT(sizeof(ncclRedOp_t))                                                                      \
    FACT(sizeof(ncclSimInfo_t))                                                                    \
    FACT(offsetof(ncclSimInfo_t, estimatedTime))                                                   \
    FACT(ncclSuccess)                                                                              \
    FACT(ncclUnhandledCudaError)                                                                   \
    FACT(ncclSystemError)                                                                          \
    FACT(ncclInternalError)                                                                        \
    FACT(ncclInvalidArgument)                                                                      \
    FACT(ncclInvalidUsage)                                                                         \
    FACT(ncclRemoteError)                                                                          \
    FACT(ncclInProgress)                                                                           \
    FACT(ncclSum)                                                                                  \
    FACT(ncclProd)                                                                                 \
    FACT(ncclMax)                                                                                  \
    FACT(ncclMin)                                                                                  \
    FACT(ncclAvg)                                                                                  \
    FACT(ncclNumOps)                                                                               \
    FACT(ncclMaxRedOp)                                                                             \
    FACT(ncclInt8)                                                                                 \
    FACT(ncclUint8)                                                                                \
    FACT(ncclInt32)                                                                                \
    FACT(ncclUint32)                                                                               \
    FACT(ncclInt64)                                                                                \
    FACT(ncclUint64)                                                                               \
    FACT(ncclFloat16)                                                                              \
    FACT(ncclFloat32)                                                                              \
    FACT(ncclFloat64)                                                                              \
    FACT(ncclBfloat16)                                                                             \
    FACT(ncclFloat8e4m3)                                                                           \
    FACT(ncclFloat8e5m2)                                                                           \
    FACT(ncclNumTypes)                                                                             \
    FACT(ncclScalarDevice)                                                                         \
    FACT(ncclScalarHostImmediate)                                                                  \
    FACT(NCCL_CONFIG_UNDEF_INT)                                                                    \
    FACT(NCCL_SPLIT_NOCOLOR)                                                                       \
    FACT_FIELD(magic)                                                                              \
    FACT_FIELD(version)                                                                            \
    FACT_FIELD(blocking)                                                                           \
    FACT_FIELD(cgaClusterSize)                                                                     \
    FACT_FIELD(minCTAs)                                                                            \
    FACT_FIELD(maxCTAs)                                                                            \
    FACT_FIELD(netName)                                                                            \
    FACT_FIELD(splitShare)                                                                         \
    FACT_FIELD(trafficClass)                                                                       \
    FACT_FIELD(commName)                                                                           \
    FACT_FIELD(collnetEnable)                                                                      \
    FACT_FIELD(CTAPolicy)                                                                          \
    FACT_FIELD(shrinkShare)                                                                        \
    FACT_FIELD(nvlsCTAs)                                                                           \
    FACT_FIELD(nChannelsPerNetPeer)                                                                \
    FACT_FIELD(nvlinkCentricSched)

/* What 2.32 has besides. */
#define FACTS_OF_2_32                                                                              \
    FACT(sizeof(ncclConfig_t))                                                                     \
    FACT_FIELD(graphUsageMode)                                                                     \
    FACT_FIELD(numRmaCtx)                                                                          \
    FACT_FIELD(maxP2pPeers)                                                                        \
    FACT_FIELD(graphStreamOrdering)                                                                \
    FACT(ncclTimeout)                                                                              \
    FACT(NCCL_SHRINK_ABORT)                                                                        \
    FACT(NCCL_REVOKE_DEFAULT)                                                                      \
    FACT(sizeof(ncclCollConfig_t))                                                                 \
    FACT(offsetof(ncclCollConfig_t, algSelection))                                                 \
    FACT(offsetof(ncclCollConfig_t, forceAlgSelection))                                            \
    FACT(offsetof(ncclCollConfig_t, userProfilerTag))                                              \
    FACT(offsetof(ncclCollConfig_t, launchCompletionEvent))                                        \
    FACT(sizeof(ncclWaitSignalDesc_t))

#endif
