/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The types that net-nccl is made of. A connection of weft has two of the library's, one each
 * way, and a TCP stream beside them: the control stream, over which the ends prove who they are,
 * tell each other the handles of the library, and see that the peer is gone. */
#ifndef WEFT_PLUGINS_NCCLNET_H
#define WEFT_PLUGINS_NCCLNET_H

#include <pthread.h>
#include <stdbool.h>

#include <weft/plugin/net.h>
#include <weft/sdk/endpoint.h>
#include <weft/sdk/handshake.h>
#include <weft/sdk/net_interface.h>
#include <weft/sdk/op_queue.h>

#include "ncclnet_shim.h"

#define NCCLNET_NAME_MAX 32u    /* bytes of a library's name on the wire */
#define NCCLNET_DEVICES_MAX 64u /* of one library */
#define NCCLNET_KEPT 8u /* registrations that a connection finds without a lock, per direction */

typedef struct ncclnet_config {
    const char *library;
    const char *interfaces;
    const char *port_range;
    int64_t traffic_class;
    int64_t in_flight;
} ncclnet_config_t;

/* Functions of the library, as texts name them. */
/* clang-format off */
#define NCCLNET_FUNCTIONS(X)                                                                       \
    X(INIT, "init") X(FINALIZE, "finalize") X(DEVICES, "devices") X(PROPERTIES, "getProperties")   \
    X(LISTEN, "listen") X(CONNECT, "connect") X(ACCEPT, "accept") X(REG, "regMr")                  \
    X(REG_DMABUF, "regMrDmaBuf") X(DEREG, "deregMr") X(SEND, "isend") X(RECEIVE, "irecv")          \
    X(FLUSH, "iflush") X(TEST, "test") X(CLOSE_SEND, "closeSend") X(CLOSE_RECEIVE, "closeRecv")    \
    X(CLOSE_LISTEN, "closeListen")
/* clang-format on */
typedef enum ncclnet_function {
#define NCCLNET_ENUMERATE(id, text) NCCLNET_##id,
    NCCLNET_FUNCTIONS(NCCLNET_ENUMERATE)
#undef NCCLNET_ENUMERATE
        NCCLNET_FUNCTION_COUNT
} ncclnet_function_t;

/* A foreign library, once per process. */
typedef struct ncclnet_library {
    void *handle;   /* of dlopen(), one for all spellings of a path; NULL: the place is free */
    char path[256]; /* as found first */
    char file[64];  /* its last part, for texts */
    const ncclnet_shim_t *shim;
    const void *table;
    bool initialised;                       /* before v11: for the process */
    char notes[NCCLNET_FUNCTION_COUNT][96]; /* "isend of libnccl-net-x.so" */
} ncclnet_library_t;

struct weft_net {
    const weft_host_t *host;
    const weft_call_note_service_t *notes; /* or NULL */
    struct weft_net *next;                 /* of all instances of the process */
    ncclnet_config_t config;
    const ncclnet_library_t *library;
    ncclnet_setup_t setup;
    void *instance; /* of the library, from v11 on */
    bool made;      /* `instance` is to be finalized */
    weft_interface_filter_t filter;
    weft_port_range_t ports;
    weft_endpoint_list_t local; /* where control streams may end */
    uint32_t ndevices;
    uint32_t devices[NCCLNET_DEVICES_MAX]; /* of the library, those that can be used */
    pthread_mutex_t lock;                  /* of the regions and their registrations */
    weft_net_region_t *regions;
    uint64_t region_number; /* of the last region */
};

struct weft_net_device {
    const weft_host_t *host;
    weft_net_t *net;
    int dev; /* of the library */
    ncclnet_foreign_t foreign;
    weft_net_conn_t *conns; /* those that are ready */
    weft_op_done_t done;
};

/* A registration with one comm of the library. The region owns it. */
typedef struct ncclnet_registration {
    struct ncclnet_registration *next;
    weft_net_conn_t *conn;
    void *comm, *mhandle;
} ncclnet_registration_t;

struct weft_net_region {
    weft_net_t *net;
    struct weft_net_region *next;
    uint64_t number; /* never used again, unlike the address */
    ncclnet_memory_t memory;
    ncclnet_registration_t *registrations;
};

/* An operation that the library has. */
typedef struct ncclnet_flight {
    void *request;
    void *mhandle;
    bool own;      /* `mhandle` is of this operation alone */
    bool flushing; /* received; `request` is that of iflush */
    bool cuda;
} ncclnet_flight_t;

/* One direction of a connection. */
typedef struct ncclnet_way {
    void *comm;
    weft_op_queue_t *queue;
    ncclnet_flight_t flights[WEFT_OP_SLOTS];
    uint32_t kept_at;
    uint64_t kept_number[NCCLNET_KEPT];
    void *kept_mhandle[NCCLNET_KEPT];
    void *nothing; /* mhandle of conn->nothing, for messages without bytes */
    bool has_nothing;
    uint64_t moved;      /* messages that are through */
    uint64_t refused_ns; /* since when the library takes nothing; 0: it does */
    bool told;           /* that it does not */
} ncclnet_way_t;

/* What the ends tell each other on the control stream, once authenticated. */
typedef struct ncclnet_hello {
    uint8_t magic[8];
    char name[NCCLNET_NAME_MAX];
    uint8_t handle[WEFT_NCCL_HANDLE];
} ncclnet_hello_t;

/* The last thing that an end tells. */
typedef struct ncclnet_bye {
    uint8_t magic[8];
    uint64_t sent; /* messages that are on their way, little-endian */
} ncclnet_bye_t;

/* A connection that is being made. */
typedef struct ncclnet_join {
    weft_endpoint_list_t list; /* connector: addresses of the peer */
    uint32_t at;
    uint32_t step;
    int cause;
    uint64_t started_ns;
    weft_handshake_t handshake;
    void *listening; /* comm of the library that takes the peer's connection */
    ncclnet_hello_t mine, theirs;
    uint32_t sent, received; /* bytes of the record under way */
    uint32_t ready_sent, ready_received;
    uint32_t ready;
} ncclnet_join_t;

struct weft_net_conn {
    const weft_host_t *host;
    weft_net_device_t *device;
    struct weft_net_conn *prev, *next; /* of the device, or of the listener while it is made */
    int fd;                            /* the control stream */
    bool is_ready;
    weft_status_t failed;
    char why[400]; /* the first failure, for whoever uses it afterwards */
    weft_net_conn_info_t info;
    ncclnet_join_t *join; /* until it is ready */
    ncclnet_way_t send, recv;
    weft_op_queues_t ops;
    uint32_t visits; /* by polls, since the control stream was looked at */
    bool ended;      /* the control stream */
    uint64_t ended_ns;
    ncclnet_bye_t bye;
    uint32_t bye_bytes;
    uint8_t nothing[64];
};

#endif
