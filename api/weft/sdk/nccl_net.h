/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: the binary interface between NCCL and its network plugins (libnccl-net-*.so), versions 6
 * to 12, declared from its public description: github.com/NVIDIA/nccl, plugins/net/README.md and
 * src/include/plugin. A plugin exports tables called ncclNetPlugin_v6 and so on; whoever loads
 * it takes the newest that it knows. Members have NCCL's names, so that its documents can be
 * read beside this.
 *
 * What holds in all versions. A function returns 0 (ncclSuccess) or another ncclResult_t.
 * Connections have one direction: listen() makes a handle, connect() of the sender takes it,
 * accept() gives the receiver its end. connect() and accept() return with a comm of NULL while
 * they are not done, and are called again with the same handle. isend() and irecv() return with
 * a request of NULL if they cannot take the operation now. test() tells whether a request is
 * done, after which it is gone, and drives it. A table only describes memory; who owns what says
 * each user of this header. */
#ifndef WEFT_SDK_NCCL_NET_H
#define WEFT_SDK_NCCL_NET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_NCCL_HANDLE 128   /* bytes of a handle */
#define WEFT_NCCL_REQUESTS 32u /* operations that a comm takes at a time, at least */
#define WEFT_NCCL_OLDEST 6u    /* versions that are declared here */
#define WEFT_NCCL_NEWEST 12u

/* ncclResult_t */
enum {
    WEFT_NCCL_SUCCESS = 0,
    WEFT_NCCL_UNHANDLED_CUDA_ERROR = 1,
    WEFT_NCCL_SYSTEM_ERROR = 2,
    WEFT_NCCL_INTERNAL_ERROR = 3,
    WEFT_NCCL_INVALID_ARGUMENT = 4,
    WEFT_NCCL_INVALID_USAGE = 5,
    WEFT_NCCL_REMOTE_ERROR = 6,
    WEFT_NCCL_IN_PROGRESS = 7
};

/* Kinds of memory: bits of ptrSupport, and the `type` of regMr. */
enum { WEFT_NCCL_PTR_HOST = 1, WEFT_NCCL_PTR_CUDA = 2, WEFT_NCCL_PTR_DMABUF = 4 };

/* netDeviceType: anything but HOST offloads to a GPU. */
enum { WEFT_NCCL_DEVICE_HOST = 0 };

/* Levels of the log function. */
enum { WEFT_NCCL_LOG_WARN = 2, WEFT_NCCL_LOG_INFO = 3, WEFT_NCCL_LOG_TRACE = 5 };

/* `where` is a file or a function, by the caller's taste. */
typedef void (*weft_nccl_log_t)(int level, unsigned long subsystems, const char *where, int line,
                                const char *format, ...);
typedef int (*weft_nccl_profile_t)(void **event, int type, void *parent, int64_t plugin,
                                   void *data);

/* Properties of a device
 * ------------------------------------------------------------------------ */

typedef struct weft_nccl_props_v6 {
    char *name;
    char *pciPath; /* in /sys; may be NULL */
    uint64_t guid;
    int ptrSupport;
    int speed; /* Mbit/s */
    int port;
    float latency; /* µs */
    int maxComms;
    int maxRecvs; /* receives of one irecv() */
} weft_nccl_props_v6_t;

typedef struct weft_nccl_props_v7 {
    char *name;
    char *pciPath;
    uint64_t guid;
    int ptrSupport;
    int speed;
    int port;
    float latency;
    int maxComms;
    int maxRecvs;
    int netDeviceType;
    int netDeviceVersion;
} weft_nccl_props_v7_t;

typedef struct weft_nccl_props_v8 {
    char *name;
    char *pciPath;
    uint64_t guid;
    int ptrSupport;
    int regIsGlobal;
    int speed;
    int port;
    float latency;
    int maxComms;
    int maxRecvs;
    int netDeviceType;
    int netDeviceVersion;
} weft_nccl_props_v8_t;

typedef struct weft_nccl_vdevice_v9 { /* devices that are merged into one */
    int ndevs;
    int devs[4];
} weft_nccl_vdevice_v9_t;

typedef struct weft_nccl_props_v9 {
    char *name;
    char *pciPath;
    uint64_t guid;
    int ptrSupport;
    int regIsGlobal;
    int forceFlush;
    int speed;
    int port;
    float latency;
    int maxComms;
    int maxRecvs;
    int netDeviceType;
    int netDeviceVersion;
    weft_nccl_vdevice_v9_t vProps;
    size_t maxP2pBytes;
    size_t maxCollBytes;
} weft_nccl_props_v9_t;

typedef weft_nccl_props_v9_t weft_nccl_props_v10_t;

typedef struct weft_nccl_props_v11 {
    weft_nccl_props_v9_t v9;
    int maxMultiRequestSize;
} weft_nccl_props_v11_t;

typedef struct weft_nccl_vdevice_v12 {
    int ndevs;
    int devs[8];
} weft_nccl_vdevice_v12_t;

typedef struct weft_nccl_props_v12 {
    char *name;
    char *pciPath;
    uint64_t guid;
    int ptrSupport;
    int regIsGlobal;
    int forceFlush;
    int speed;
    int port;
    float latency;
    int maxComms;
    int maxRecvs;
    int netDeviceType;
    int netDeviceVersion;
    weft_nccl_vdevice_v12_t vProps;
    size_t maxP2pBytes;
    size_t maxCollBytes;
    int maxMultiRequestSize;
    int16_t railId; /* −1: not known */
    int16_t planeId;
} weft_nccl_props_v12_t;

/* Tables
 * ---------------------------------------------------------------------------------------- */

typedef struct weft_nccl_config { /* of a connection (v10) or of an instance (v11) */
    int trafficClass;             /* −1: none */
} weft_nccl_config_t;

typedef struct weft_nccl_net_v6 {
    const char *name;
    int (*init)(weft_nccl_log_t log);
    int (*devices)(int *count);
    int (*getProperties)(int dev, weft_nccl_props_v6_t *props);
    int (*listen)(int dev, void *handle, void **comm);
    int (*connect)(int dev, void *handle, void **comm);
    int (*accept)(void *listening, void **comm);
    int (*regMr)(void *comm, void *data, int size, int type, void **mhandle);
    int (*regMrDmaBuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle);
    int (*deregMr)(void *comm, void *mhandle);
    int (*isend)(void *comm, void *data, int size, int tag, void *mhandle, void **request);
    int (*irecv)(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles,
                 void **request);
    int (*iflush)(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
    int (*test)(void *request, int *done, int *sizes);
    int (*closeSend)(void *comm);
    int (*closeRecv)(void *comm);
    int (*closeListen)(void *comm);
} weft_nccl_net_v6_t;

/* v7 gives connect() and accept() a place for a handle of the GPU's (NULL in it: none is
 * wanted). */
typedef struct weft_nccl_net_v7 {
    const char *name;
    int (*init)(weft_nccl_log_t log);
    int (*devices)(int *count);
    int (*getProperties)(int dev, weft_nccl_props_v7_t *props);
    int (*listen)(int dev, void *handle, void **comm);
    int (*connect)(int dev, void *handle, void **comm, void **offload);
    int (*accept)(void *listening, void **comm, void **offload);
    int (*regMr)(void *comm, void *data, int size, int type, void **mhandle);
    int (*regMrDmaBuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle);
    int (*deregMr)(void *comm, void *mhandle);
    int (*isend)(void *comm, void *data, int size, int tag, void *mhandle, void **request);
    int (*irecv)(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles,
                 void **request);
    int (*iflush)(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
    int (*test)(void *request, int *done, int *sizes);
    int (*closeSend)(void *comm);
    int (*closeRecv)(void *comm);
    int (*closeListen)(void *comm);
    int (*getDeviceMr)(void *comm, void *mhandle, void **device_mhandle);
    int (*irecvConsumed)(void *comm, int n, void *request);
} weft_nccl_net_v7_t;

/* v8 registers sizes beyond an int. */
typedef struct weft_nccl_net_v8 {
    const char *name;
    int (*init)(weft_nccl_log_t log);
    int (*devices)(int *count);
    int (*getProperties)(int dev, weft_nccl_props_v8_t *props);
    int (*listen)(int dev, void *handle, void **comm);
    int (*connect)(int dev, void *handle, void **comm, void **offload);
    int (*accept)(void *listening, void **comm, void **offload);
    int (*regMr)(void *comm, void *data, size_t size, int type, void **mhandle);
    int (*regMrDmaBuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle);
    int (*deregMr)(void *comm, void *mhandle);
    int (*isend)(void *comm, void *data, int size, int tag, void *mhandle, void **request);
    int (*irecv)(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles,
                 void **request);
    int (*iflush)(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
    int (*test)(void *request, int *done, int *sizes);
    int (*closeSend)(void *comm);
    int (*closeRecv)(void *comm);
    int (*closeListen)(void *comm);
    int (*getDeviceMr)(void *comm, void *mhandle, void **device_mhandle);
    int (*irecvConsumed)(void *comm, int n, void *request);
} weft_nccl_net_v8_t;

/* v9 sends and receives sizes beyond an int, and merges devices. */
typedef struct weft_nccl_net_v9 {
    const char *name;
    int (*init)(weft_nccl_log_t log);
    int (*devices)(int *count);
    int (*getProperties)(int dev, weft_nccl_props_v9_t *props);
    int (*listen)(int dev, void *handle, void **comm);
    int (*connect)(int dev, void *handle, void **comm, void **offload);
    int (*accept)(void *listening, void **comm, void **offload);
    int (*regMr)(void *comm, void *data, size_t size, int type, void **mhandle);
    int (*regMrDmaBuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle);
    int (*deregMr)(void *comm, void *mhandle);
    int (*isend)(void *comm, void *data, size_t size, int tag, void *mhandle, void **request);
    int (*irecv)(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
                 void **request);
    int (*iflush)(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
    int (*test)(void *request, int *done, int *sizes);
    int (*closeSend)(void *comm);
    int (*closeRecv)(void *comm);
    int (*closeListen)(void *comm);
    int (*getDeviceMr)(void *comm, void *mhandle, void **device_mhandle);
    int (*irecvConsumed)(void *comm, int n, void *request);
    int (*makeVDevice)(int *dev, weft_nccl_vdevice_v9_t *vdevice);
} weft_nccl_net_v9_t;

/* v10 adds a callback for profilers, and the traffic class of a connection. */
typedef struct weft_nccl_net_v10 {
    const char *name;
    int (*init)(weft_nccl_log_t log, weft_nccl_profile_t profile);
    int (*devices)(int *count);
    int (*getProperties)(int dev, weft_nccl_props_v10_t *props);
    int (*listen)(int dev, void *handle, void **comm);
    int (*connect)(int dev, weft_nccl_config_t *config, void *handle, void **comm, void **offload);
    int (*accept)(void *listening, void **comm, void **offload);
    int (*regMr)(void *comm, void *data, size_t size, int type, void **mhandle);
    int (*regMrDmaBuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle);
    int (*deregMr)(void *comm, void *mhandle);
    int (*isend)(void *comm, void *data, size_t size, int tag, void *mhandle, void *parent,
                 void **request);
    int (*irecv)(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
                 void **parents, void **request);
    int (*iflush)(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
    int (*test)(void *request, int *done, int *sizes);
    int (*closeSend)(void *comm);
    int (*closeRecv)(void *comm);
    int (*closeListen)(void *comm);
    int (*getDeviceMr)(void *comm, void *mhandle, void **device_mhandle);
    int (*irecvConsumed)(void *comm, int n, void *request);
    int (*makeVDevice)(int *dev, weft_nccl_vdevice_v9_t *vdevice);
} weft_nccl_net_v10_t;

/* v11 has instances (`instance`), each with a configuration. v12 changes the properties only;
 * `props` and `vdevice` are those of the version. */
typedef struct weft_nccl_net_v11 {
    const char *name;
    int (*init)(void **instance_p, uint64_t id, weft_nccl_config_t *config, weft_nccl_log_t log,
                weft_nccl_profile_t profile);
    int (*devices)(int *count);
    int (*getProperties)(int dev, void *props);
    int (*listen)(void *instance, int dev, void *handle, void **comm);
    int (*connect)(void *instance, int dev, void *handle, void **comm, void **offload);
    int (*accept)(void *listening, void **comm, void **offload);
    int (*regMr)(void *comm, void *data, size_t size, int type, void **mhandle);
    int (*regMrDmaBuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
                       void **mhandle);
    int (*deregMr)(void *comm, void *mhandle);
    int (*isend)(void *comm, void *data, size_t size, int tag, void *mhandle, void *parent,
                 void **request);
    int (*irecv)(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
                 void **parents, void **request);
    int (*iflush)(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
    int (*test)(void *request, int *done, int *sizes);
    int (*closeSend)(void *comm);
    int (*closeRecv)(void *comm);
    int (*closeListen)(void *comm);
    int (*getDeviceMr)(void *comm, void *mhandle, void **device_mhandle);
    int (*irecvConsumed)(void *comm, int n, void *request);
    int (*makeVDevice)(int *dev, void *vdevice);
    int (*finalize)(void *instance);
    int (*setNetAttr)(void *instance, void *attributes);
} weft_nccl_net_v11_t;

typedef weft_nccl_net_v11_t weft_nccl_net_v12_t;

#ifdef __cplusplus
}
#endif
#endif
