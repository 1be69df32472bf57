/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One table of functions over all versions of NCCL's: the differences between them end here. The
 * file ncclnet_shim.inc is compiled once per version. */
#ifndef WEFT_PLUGINS_NCCLNET_SHIM_H
#define WEFT_PLUGINS_NCCLNET_SHIM_H

#include <stdbool.h>

#include <weft/sdk/nccl_net.h>

/* What the properties of all versions come to. Texts belong to the foreign library. */
typedef struct ncclnet_foreign {
    const char *name;
    const char *pci_path; /* may be NULL */
    int memory;           /* WEFT_NCCL_PTR_* */
    int speed;            /* Mbit/s */
    float latency;        /* µs */
    int recvs;
    int offload, offload_version; /* WEFT_NCCL_DEVICE_* */
    size_t most;                  /* bytes of one message; 0: not told */
    int rail;                     /* −1: not told */
} ncclnet_foreign_t;

/* Memory to be registered; fd −1: not by dma-buf. */
typedef struct ncclnet_memory {
    void *data;
    size_t bytes;
    int type; /* WEFT_NCCL_PTR_HOST or _CUDA */
    int fd;
    uint64_t offset;
} ncclnet_memory_t;

/* One message. */
typedef struct ncclnet_message {
    void *data;
    size_t bytes;
    int tag;
    void *mhandle;
} ncclnet_message_t;

/* How an instance is made, from v10 on for the traffic class, from v11 on for the instance. */
typedef struct ncclnet_setup {
    uint64_t id;
    weft_nccl_config_t config;
    weft_nccl_log_t log;
} ncclnet_setup_t;

/* `table` is the foreign table of this version. All return an ncclResult_t. */
typedef struct ncclnet_shim {
    unsigned version;
    const char *symbol;
    bool instances;  /* init() makes one, which finalize() ends; else init() is for the process */
    size_t reg_most; /* bytes of one registration of host memory or of CUDA memory by its pointer */
    const char *(*name)(const void *table);
    const char *(*missing)(const void *table); /* function that is NULL and must not be; or NULL */
    bool (*has_dmabuf)(const void *table);
    bool (*has_flush)(const void *table);
    int (*init)(const void *table, ncclnet_setup_t *setup, void **instance_p);
    int (*finalize)(const void *table, void *instance);
    int (*devices)(const void *table, int *count);
    int (*properties)(const void *table, int dev, ncclnet_foreign_t *foreign);
    int (*listen)(const void *table, void *instance, int dev, void *handle, void **comm);
    int (*connect)(const void *table, void *instance, int dev, ncclnet_setup_t *setup, void *handle,
                   void **comm);
    int (*accept)(const void *table, void *listening, void **comm);
    int (*reg)(const void *table, void *comm, const ncclnet_memory_t *memory, void **mhandle);
    int (*dereg)(const void *table, void *comm, void *mhandle);
    int (*send)(const void *table, void *comm, const ncclnet_message_t *message, void **request);
    int (*receive)(const void *table, void *comm, const ncclnet_message_t *message, void **request);
    int (*flush)(const void *table, void *comm, const ncclnet_message_t *message, void **request);
    int (*test)(const void *table, void *request, int *done, int *bytes);
    int (*close_send)(const void *table, void *comm);
    int (*close_receive)(const void *table, void *comm);
    int (*close_listen)(const void *table, void *comm);
} ncclnet_shim_t;

/* The shims, newest first. */
#define NCCLNET_SHIMS (WEFT_NCCL_NEWEST - WEFT_NCCL_OLDEST + 1)
extern const ncclnet_shim_t *const ncclnet_shims[NCCLNET_SHIMS];

#endif
