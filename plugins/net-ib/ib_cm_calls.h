/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of librdmacm that net-ib calls; each has the name and type of rdma_NAME(). Only
 * files that are built with the headers of librdmacm include this. */
#ifndef WEFT_PLUGINS_NET_IB_CM_CALLS_H
#define WEFT_PLUGINS_NET_IB_CM_CALLS_H

#include <rdma/rdma_cma.h>

struct ib_cm_calls {
    void *library; /* handle of dlopen() */
    struct rdma_event_channel *(*create_event_channel)(void);
    void (*destroy_event_channel)(struct rdma_event_channel *channel);
    int (*create_id)(struct rdma_event_channel *channel, struct rdma_cm_id **id_p, void *context,
                     enum rdma_port_space space);
    int (*destroy_id)(struct rdma_cm_id *id);
    int (*bind_addr)(struct rdma_cm_id *id, struct sockaddr *address);
    int (*listen)(struct rdma_cm_id *id, int backlog);
    __be16 (*get_src_port)(struct rdma_cm_id *id);
    int (*resolve_addr)(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to,
                        int timeout_ms);
    int (*resolve_route)(struct rdma_cm_id *id, int timeout_ms);
    int (*connect)(struct rdma_cm_id *id, struct rdma_conn_param *param);
    int (*accept)(struct rdma_cm_id *id, struct rdma_conn_param *param);
    int (*reject)(struct rdma_cm_id *id, const void *data, uint8_t bytes);
    int (*get_cm_event)(struct rdma_event_channel *channel, struct rdma_cm_event **event_p);
    int (*ack_cm_event)(struct rdma_cm_event *event);
    int (*set_option)(struct rdma_cm_id *id, int level, int name, void *value, size_t bytes);
    const char *(*event_str)(enum rdma_cm_event_type type);
};

#endif
