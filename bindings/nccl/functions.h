/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of NCCL's API as this library exports them, each also under its name for profilers
 * (pnccl…, NCCL_TWIN). docs/nccl.md says of each what weft does for it. */
#ifndef BINDINGS_NCCL_FUNCTIONS_H
#define BINDINGS_NCCL_FUNCTIONS_H

#define NCCL_EXPORT __attribute__((visibility("default")))
/* Exports a function that is defined in this file under its second name as well. */
#define NCCL_TWIN(name) extern NCCL_EXPORT __typeof__(name) p##name __attribute__((alias(#name)))

/* The library, and errors (query.c) */
NCCL_EXPORT ncclResult_t ncclGetVersion(int *version);
NCCL_EXPORT const char *ncclGetErrorString(ncclResult_t result);
NCCL_EXPORT const char *ncclGetLastError(ncclComm_t comm);
NCCL_EXPORT void ncclResetDebugInit(void);
NCCL_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
NCCL_EXPORT ncclResult_t ncclCommCount(ncclComm_t comm, int *count);
NCCL_EXPORT ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device);
NCCL_EXPORT ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank);

/* Communicators (init.c) */
NCCL_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
NCCL_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank);
NCCL_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id,
                                                int rank, ncclConfig_t *config);
NCCL_EXPORT ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids,
                                                  ncclUniqueId *ids, ncclConfig_t *config);
NCCL_EXPORT ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices);
NCCL_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
                                       ncclConfig_t *config);
NCCL_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm);
NCCL_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm);
NCCL_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm);

/* Going on without some ranks (shrink.c) */
NCCL_EXPORT ncclResult_t ncclCommShrink(ncclComm_t comm, int *exclude, int nexclude,
                                        ncclComm_t *child, ncclConfig_t *config, int flags);
NCCL_EXPORT ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);

/* Going on with more ranks (grow.c) */
NCCL_EXPORT ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id);
NCCL_EXPORT ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank,
                                      ncclComm_t *child, ncclConfig_t *config);

/* Collectives and messages (calls.c) */
NCCL_EXPORT ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count,
                                       ncclDataType_t dtype, ncclRedOp_t op, ncclComm_t comm,
                                       cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclReduce(const void *send, void *recv, size_t count,
                                    ncclDataType_t dtype, ncclRedOp_t op, int root, ncclComm_t comm,
                                    cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count,
                                       ncclDataType_t dtype, int root, ncclComm_t comm,
                                       cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t dtype, int root,
                                   ncclComm_t comm, cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count,
                                           ncclDataType_t dtype, ncclRedOp_t op, ncclComm_t comm,
                                           cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclAllGather(const void *send, void *recv, size_t count,
                                       ncclDataType_t dtype, ncclComm_t comm, cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count,
                                      ncclDataType_t dtype, ncclComm_t comm, cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclGather(const void *send, void *recv, size_t count,
                                    ncclDataType_t dtype, int root, ncclComm_t comm,
                                    cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclScatter(const void *send, void *recv, size_t count,
                                     ncclDataType_t dtype, int root, ncclComm_t comm,
                                     cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t dtype, int peer,
                                  ncclComm_t comm, cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t dtype, int peer,
                                  ncclComm_t comm, cudaStream_t stream);

/* One-sided calls (one_sided.c) */
NCCL_EXPORT ncclResult_t ncclPutSignal(const void *local, size_t count, ncclDataType_t dtype,
                                       int peer, ncclWindow_t window, size_t offset, int signal,
                                       int context, unsigned flags, ncclComm_t comm,
                                       cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclSignal(int peer, int signal, int context, unsigned flags,
                                    ncclComm_t comm, cudaStream_t stream);
NCCL_EXPORT ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t *waits, ncclComm_t comm,
                                        cudaStream_t stream);

/* The same with a config for one call (coll_config.c) */
NCCL_EXPORT ncclResult_t ncclAllReduceConfig(const void *send, void *recv, size_t count,
                                             ncclDataType_t dtype, ncclRedOp_t op, ncclComm_t comm,
                                             cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_EXPORT ncclResult_t ncclReduceConfig(const void *send, void *recv, size_t count,
                                          ncclDataType_t dtype, ncclRedOp_t op, int root,
                                          ncclComm_t comm, cudaStream_t stream,
                                          const ncclCollConfig_t *config);
NCCL_EXPORT ncclResult_t ncclBroadcastConfig(const void *send, void *recv, size_t count,
                                             ncclDataType_t dtype, int root, ncclComm_t comm,
                                             cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_EXPORT ncclResult_t ncclReduceScatterConfig(const void *send, void *recv, size_t count,
                                                 ncclDataType_t dtype, ncclRedOp_t op,
                                                 ncclComm_t comm, cudaStream_t stream,
                                                 const ncclCollConfig_t *config);
NCCL_EXPORT ncclResult_t ncclAllGatherConfig(const void *send, void *recv, size_t count,
                                             ncclDataType_t dtype, ncclComm_t comm,
                                             cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_EXPORT ncclResult_t ncclAlltoAllConfig(const void *send, void *recv, size_t count,
                                            ncclDataType_t dtype, ncclComm_t comm,
                                            cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_EXPORT ncclResult_t ncclGatherConfig(const void *send, void *recv, size_t count,
                                          ncclDataType_t dtype, int root, ncclComm_t comm,
                                          cudaStream_t stream, const ncclCollConfig_t *config);
NCCL_EXPORT ncclResult_t ncclScatterConfig(const void *send, void *recv, size_t count,
                                           ncclDataType_t dtype, int root, ncclComm_t comm,
                                           cudaStream_t stream, const ncclCollConfig_t *config);

/* Groups (group.c) */
NCCL_EXPORT ncclResult_t ncclGroupStart(void);
NCCL_EXPORT ncclResult_t ncclGroupEnd(void);
NCCL_EXPORT ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info);

/* Operators that a program makes (factors.c) */
NCCL_EXPORT ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar,
                                                  ncclDataType_t dtype,
                                                  ncclScalarResidence_t residence, ncclComm_t comm);
NCCL_EXPORT ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* Memory (memory.c, window.c) */
NCCL_EXPORT ncclResult_t ncclMemAlloc(void **memory, size_t bytes);
NCCL_EXPORT ncclResult_t ncclMemFree(void *memory);
NCCL_EXPORT ncclResult_t ncclCommRegister(ncclComm_t comm, void *memory, size_t bytes,
                                          void **handle);
NCCL_EXPORT ncclResult_t ncclCommDeregister(ncclComm_t comm, void *handle);
NCCL_EXPORT ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t bytes,
                                                ncclWindow_t *window, int flags);
NCCL_EXPORT ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window);
NCCL_EXPORT ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void **memory);

/* What the API of devices asks on the host (teams.c) */
NCCL_EXPORT ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t *properties);
NCCL_EXPORT ncclTeam_t ncclTeamWorld(ncclComm_t comm);
NCCL_EXPORT ncclTeam_t ncclTeamLsa(ncclComm_t comm);
NCCL_EXPORT ncclTeam_t ncclTeamRail(ncclComm_t comm);
NCCL_EXPORT ncclTeam_t ncclTeamCft(ncclComm_t comm, int mode);
NCCL_EXPORT ncclTeam_t ncclTeamCftMultimem(ncclComm_t comm);
NCCL_EXPORT int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank);
NCCL_EXPORT int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank);

#endif
