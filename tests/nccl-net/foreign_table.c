/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of the tests' network plugin in the version VERSION. */
#include "foreign.h"

#include <stdlib.h>
#include <string.h>

#define PASTE(a, b) a##b
#define JOIN(a, b) PASTE(a, b)
#define NET JOIN(JOIN(weft_nccl_net_v, VERSION), _t)
#define PROPS JOIN(JOIN(weft_nccl_props_v, VERSION), _t)
#define TABLE JOIN(ncclNetPlugin_v, VERSION)

#if VERSION < 8
typedef int reg_size_t;
#else
typedef size_t reg_size_t;
#endif
#if VERSION < 9
typedef int message_size_t;
#else
typedef size_t message_size_t;
#endif
#if VERSION == 11
#define OF_V9(field) v9.field
#else
#define OF_V9(field) field
#endif

static int table_properties(int dev, void *out)
{
    PROPS *props = out;
    static char name[] = "foreign0";
    if (dev != 0 || foreign_wrong("props_error")) {
        return WEFT_NCCL_INTERNAL_ERROR;
    }
    memset(props, 0, sizeof *props);
    props->OF_V9(name) = foreign_wrong("props_no_name") ? NULL : name;
    props->OF_V9(ptrSupport) = foreign_wrong("props_memory") ? WEFT_NCCL_PTR_CUDA
                               : getenv("FOREIGN_CUDA") != NULL
                                   ? WEFT_NCCL_PTR_HOST | WEFT_NCCL_PTR_CUDA | WEFT_NCCL_PTR_DMABUF
                                   : WEFT_NCCL_PTR_HOST;
    props->OF_V9(speed) = foreign_wrong("props_speed") ? -1 : 20000;
    props->OF_V9(latency) = 6;
    props->OF_V9(maxComms) = 1024;
    props->OF_V9(maxRecvs) = foreign_wrong("props_recvs") ? 0 : 1;
#if VERSION >= 7
    props->OF_V9(netDeviceType) = foreign_wrong("props_offload") ? 1 : WEFT_NCCL_DEVICE_HOST;
#endif
#if VERSION >= 9
    props->OF_V9(maxP2pBytes) = foreign_wrong("props_short") ? 1000 : (size_t)1 << 40;
#endif
#if VERSION >= 12
    props->railId = props->planeId = -1;
#endif
    return WEFT_NCCL_SUCCESS;
}

#if VERSION < 11
static int table_props(int dev, PROPS *props)
{
    return table_properties(dev, props);
}
#define INSTANCE
#else
static int instances;
#define INSTANCE void *instance,
#endif

#if VERSION < 10
static int table_init(weft_nccl_log_t log)
{
    return foreign_init(log);
}
#elif VERSION < 11
static int table_init(weft_nccl_log_t log, weft_nccl_profile_t profile)
{
    return profile == NULL ? WEFT_NCCL_INVALID_ARGUMENT : foreign_init(log);
}
#else
static int table_init(void **instance_p, uint64_t id, weft_nccl_config_t *config,
                      weft_nccl_log_t log, weft_nccl_profile_t profile)
{
    if (id == 0 || config->trafficClass < -1 || profile == NULL) {
        return WEFT_NCCL_INVALID_ARGUMENT;
    }
    *instance_p = &instances;
    return foreign_init(log);
}

static int table_finalize(void *instance)
{
    return instance == &instances ? WEFT_NCCL_SUCCESS : WEFT_NCCL_INVALID_ARGUMENT;
}
#endif

static int table_listen(INSTANCE int dev, void *handle, void **comm)
{
#if VERSION >= 11
    if (instance != &instances) {
        return WEFT_NCCL_INVALID_ARGUMENT;
    }
#endif
    return foreign_listen(dev, handle, comm);
}

#if VERSION < 7
#define table_connect foreign_connect
#define table_accept foreign_accept
#else
static int table_connect(INSTANCE int dev,
#if VERSION == 10
                         weft_nccl_config_t *config,
#endif
                         void *handle, void **comm, void **offload)
{
#if VERSION == 10
    if (config->trafficClass < -1) {
        return WEFT_NCCL_INVALID_ARGUMENT;
    }
#endif
#if VERSION >= 11
    if (instance != &instances) {
        return WEFT_NCCL_INVALID_ARGUMENT;
    }
#endif
    return *offload != NULL ? WEFT_NCCL_INVALID_ARGUMENT : foreign_connect(dev, handle, comm);
}

static int table_accept(void *listening, void **comm, void **offload)
{
    return *offload != NULL ? WEFT_NCCL_INVALID_ARGUMENT : foreign_accept(listening, comm);
}
#endif

static int table_reg(void *comm, void *data, reg_size_t size, int type, void **mhandle)
{
    return foreign_reg(comm, data, (size_t)size, type, mhandle);
}

static int table_send(void *comm, void *data, message_size_t size, int tag, void *mhandle,
#if VERSION >= 10
                      void *parent,
#endif
                      void **request)
{
#if VERSION >= 10
    (void)parent;
#endif
    return foreign_send(comm, data, (size_t)size, tag, mhandle, request);
}

static int table_receive(void *comm, int n, void **data, message_size_t *sizes, int *tags,
                         void **mhandles,
#if VERSION >= 10
                         void **parents,
#endif
                         void **request)
{
#if VERSION >= 10
    (void)parents[0];
#endif
    return n != 1 ? WEFT_NCCL_INVALID_ARGUMENT
                  : foreign_receive(comm, data[0], (size_t)sizes[0], tags[0], mhandles[0], request);
}

extern NET TABLE;
__attribute__((visibility("default"))) NET TABLE = {
    .name = "foreign",
    .init = table_init,
    .devices = foreign_devices,
#if VERSION < 11
    .getProperties = table_props,
#else
    .getProperties = table_properties,
    .finalize = table_finalize,
#endif
    .listen = table_listen,
    .connect = table_connect,
    .accept = table_accept,
    .regMr = table_reg,
    .regMrDmaBuf = foreign_reg_dmabuf,
    .deregMr = foreign_dereg,
    .isend = table_send,
    .irecv = table_receive,
    .iflush = foreign_flush,
    .test = foreign_test,
    .closeSend = foreign_close,
    .closeRecv = foreign_close,
    .closeListen = foreign_close,
};

__attribute__((constructor)) static void table_damage(void)
{
    if (foreign_wrong("table_no_isend")) {
        TABLE.isend = NULL;
    }
    if (foreign_wrong("table_no_test")) {
        TABLE.test = NULL;
    }
}
