/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that weft has nothing for. Each returns ncclInvalidUsage, and ncclGetLastError()
 * says which it was and why. */
#ifndef BINDINGS_NCCL_REFUSED_H
#define BINDINGS_NCCL_REFUSED_H

/* X(name, reason). The reasons end the sentence "ncclX is not offered by weft: …". */
#define NCCL_REFUSED_MAP(X)                                                                        \
    X(ncclCommSuspend, NCCL_REFUSED_SUSPEND)                                                       \
    X(ncclCommResume, NCCL_REFUSED_SUSPEND)                                                        \
    X(ncclCommMemStats, NCCL_REFUSED_SUSPEND)                                                      \
    X(ncclDevCommCreate, NCCL_REFUSED_DEVICE)                                                      \
    X(ncclDevCommDestroy, NCCL_REFUSED_DEVICE)                                                     \
    X(ncclGetLsaDevicePointer, NCCL_REFUSED_DEVICE)                                                \
    X(ncclGetLsaMultimemDevicePointer, NCCL_REFUSED_DEVICE)                                        \
    X(ncclGetMultimemDevicePointer, NCCL_REFUSED_DEVICE)                                           \
    X(ncclGetPeerDevicePointer, NCCL_REFUSED_DEVICE)                                               \
    X(ncclGetCftDeviceLeInfo, NCCL_REFUSED_DEVICE)                                                 \
    X(ncclGetMultimemDeviceLeInfo, NCCL_REFUSED_DEVICE)                                            \
    X(ncclGetPeerDeviceLeInfo, NCCL_REFUSED_DEVICE)                                                \
    X(ncclCftBarrierCreateRequirement, NCCL_REFUSED_DEVICE)                                        \
    X(ncclGinBarrierCreateRequirement, NCCL_REFUSED_DEVICE)                                        \
    X(ncclGinInboxA2ACreateRequirement, NCCL_REFUSED_DEVICE)                                       \
    X(ncclGinOutboxCreateRequirement, NCCL_REFUSED_DEVICE)                                         \
    X(ncclLLA2ACreateRequirement, NCCL_REFUSED_DEVICE)                                             \
    X(ncclLsaBarrierCreateRequirement, NCCL_REFUSED_DEVICE)                                        \
    X(ncclSetEncryption, NCCL_REFUSED_ENCRYPTION)                                                  \
    X(ncclParamBind, NCCL_REFUSED_PARAM)                                                           \
    X(ncclParamGet, NCCL_REFUSED_PARAM)                                                            \
    X(ncclParamGetI8, NCCL_REFUSED_PARAM)                                                          \
    X(ncclParamGetI16, NCCL_REFUSED_PARAM)                                                         \
    X(ncclParamGetI32, NCCL_REFUSED_PARAM)                                                         \
    X(ncclParamGetI64, NCCL_REFUSED_PARAM)                                                         \
    X(ncclParamGetU8, NCCL_REFUSED_PARAM)                                                          \
    X(ncclParamGetU16, NCCL_REFUSED_PARAM)                                                         \
    X(ncclParamGetU32, NCCL_REFUSED_PARAM)                                                         \
    X(ncclParamGetU64, NCCL_REFUSED_PARAM)                                                         \
    X(ncclParamGetStr, NCCL_REFUSED_PARAM)                                                         \
    X(ncclParamGetParameter, NCCL_REFUSED_PARAM)                                                   \
    X(ncclParamGetAllParameterKeys, NCCL_REFUSED_PARAM)

#define NCCL_REFUSED_SUSPEND "a communicator keeps its memory; destroy it to free it"
#define NCCL_REFUSED_DEVICE "kernels of programs cannot communicate (ncclCommQueryProperties)"
#define NCCL_REFUSED_ENCRYPTION "data are not encrypted"
#define NCCL_REFUSED_PARAM "NCCL's parameters do not exist here (weft config)"

#endif
