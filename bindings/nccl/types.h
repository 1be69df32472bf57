/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The types of NCCL's API, written out: numbers and layouts as programs that were compiled against
 * an nccl.h have them, as far as NCCL 2.32.3 has them.
 * tests/bindings/nccl compares them with an nccl.h where there is one. */
#ifndef BINDINGS_NCCL_TYPES_H
#define BINDINGS_NCCL_TYPES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version that this library claims: that of the header it was written for. */
#define NCCL_VERSION_CODE 23007

#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_SPLIT_NOCOLOR (-1)
#define NCCL_SHRINK_DEFAULT 0
#define NCCL_SHRINK_ABORT 1
#define NCCL_REVOKE_DEFAULT 0
#define NCCL_API_MAGIC 0xcafebeefU
#define NCCL_SIM_INFO_MAGIC 0x74685283U

typedef struct CUstream_st *cudaStream_t;
typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct ncclParamHandle *ncclParamHandle_t;

typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclTimeout = 8,
    ncclNumResults = 9
} ncclResult_t;

typedef enum {
    ncclSum = 0,
    ncclProd = 1,
    ncclMax = 2,
    ncclMin = 3,
    ncclAvg = 4,
    ncclNumOps = 5, /* first number of an operator that a program makes */
    ncclMaxRedOp = INT_MAX
} ncclRedOp_t;

typedef enum {
    ncclInt8 = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclFloat32 = 7,
    ncclFloat64 = 8,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11,
    ncclNumTypes = 12
} ncclDataType_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

typedef enum {
    ncclStatGpuMemSuspend = 0,
    ncclStatGpuMemSuspended = 1,
    ncclStatGpuMemPersist = 2,
    ncclStatGpuMemTotal = 3
} ncclCommMemStat_t;

/* Grows at its end; this is as far as 2.32.3. A program says how much of it it has: `size`. */
typedef struct {
    size_t size;
    unsigned magic; /* NCCL_API_MAGIC */
    unsigned version;
    int blocking;       /* 2.14 */
    int cgaClusterSize; /* 2.17 */
    int minCTAs;
    int maxCTAs;
    const char *netName;
    int splitShare;       /* 2.18 */
    int trafficClass;     /* 2.26 */
    const char *commName; /* 2.27 */
    int collnetEnable;
    int CTAPolicy;
    int shrinkShare;
    int nvlsCTAs;
    int nChannelsPerNetPeer; /* 2.28 */
    int nvlinkCentricSched;
    int graphUsageMode; /* 2.29 */
    int numRmaCtx;
    int maxP2pPeers; /* 2.30 */
    int graphStreamOrdering;
    int of_2_31[5]; /* launchOrderImplicit … nvlsHostMode */
} ncclConfig_t;

/* Of a single call, from 2.31 on. */
typedef struct {
    size_t size;
    unsigned magic; /* NCCL_API_MAGIC */
    unsigned version;
    void *ext;
    int minCTAs;
    int maxCTAs;
    int nvlsCTAs;
    int cgaClusterSize;
    const char *algSelection;
    int forceAlgSelection;
    int CTAPolicy;
    uint64_t userProfilerTag;
    void *launchCompletionEvent; /* 2.32 */
} ncclCollConfig_t;

typedef struct {
    size_t size;
    unsigned magic; /* NCCL_SIM_INFO_MAGIC */
    unsigned version;
    float estimatedTime; /* microseconds */
} ncclSimInfo_t;

typedef struct {
    int opCnt;
    int peer;
    int sigIdx;
    int ctx;
} ncclWaitSignalDesc_t;

/* Ranks rank0, rank0 + stride …, of which this one has the number `rank`. */
typedef struct ncclTeam {
    int nRanks;
    int rank;
    int stride;
} ncclTeam_t;

typedef struct ncclCommProperties {
    size_t size;
    unsigned magic; /* NCCL_API_MAGIC */
    unsigned version;
    int rank;
    int nRanks;
    int cudaDev;
    int nvmlDev;
    bool deviceApiSupport;
    bool multimemSupport;
    int ginType;
    int nLsaTeams;
    bool hostRmaSupport;
    int railedGinType;
    uint64_t commHash; /* 2.31 */
    int ginMinStride;
    int ginConnectionType;
    bool ginSupport[64];
    size_t devCommRuntimeVersionSize; /* 2.32 */
    bool cftSupport;
    bool cftMulticastSupport;
    bool cftCountedSupport;
} ncclCommProperties_t;

#endif
