/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libnccl-net-weft.so: a transport of weft as a network plugin of NCCL. This header has the
 * process's one transport: the first of [core] net that carries messages and has devices here.
 * It lives until the process ends, as NCCL's own networks do.
 *
 * Thread: any. weft's [progress] rule is kept by a lock per device. */
#ifndef WEFT_BINDINGS_NCCL_NET_OFFER_H
#define WEFT_BINDINGS_NCCL_NET_OFFER_H

#include <pthread.h>
#include <stdbool.h>

#include <weft/plugin/net.h>
#include <weft/sdk/nccl_net.h>

#define OFFER_DEVICES 16u

typedef struct offer_device {
    /* Of the fields, of the connections, and of requests that are under way. */
    pthread_mutex_t lock;
    weft_net_device_t *device; /* open while it has users: listeners and connections */
    uint32_t users;
    weft_net_props_t props;
    char pci_path[128]; /* in /sys; empty: none */
} offer_device_t;

typedef struct offer {
    const weft_net_ops_t *ops;
    weft_net_t *net;
    char name[40]; /* "weft/net-socket" */
    uint32_t ndevices;
    offer_device_t devices[OFFER_DEVICES];
} offer_t;

/* Finds the transport, the first time. Returns an ncclResult_t, as do all functions that say
 * "result". */
int offer_begin(weft_nccl_log_t log);
/* What offer_begin() found. */
offer_t *offer_get(void);

/* The device, open until its last user closes it; NULL if there is none such, or it fails, after a
 * line. */
offer_device_t *offer_device_open(int dev);
void offer_device_close(offer_device_t *device);

/* Writes weft's last error to NCCL's log, after `what`, and gives the result for `status`. */
int offer_fail(weft_status_t status, const char *what);
/* The same with a text of this library. */
int offer_refuse(int result, const char *format, ...) WEFT_PRINTF(2, 3);

#endif
