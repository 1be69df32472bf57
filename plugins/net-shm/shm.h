/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Private parts of net-shm: instance, address, connection and the memory behind it. */
#ifndef WEFT_PLUGINS_NET_SHM_H
#define WEFT_PLUGINS_NET_SHM_H

#include <stdbool.h>
#include <sys/un.h>

#include <weft/plugin/net.h>

#include <weft/sdk/acceptor.h>
#include <weft/sdk/host_identity.h>

#define SHM_TOKEN 16

/* An address: where its process runs, and which listener it is. Two processes can meet if they
 * share the kernel, the network namespace (abstract sockets live there), the user namespace and the
 * user. This is the wire form as well, in host byte order: an address is of no use on another
 * host. */
typedef struct shm_address {
    uint8_t magic[4];
    uint32_t uid;
    uint8_t host[WEFT_HOST_IDENTITY_BYTES];
    uint64_t user_namespace;
    uint64_t domain;          /* hash of option `domain` */
    uint8_t token[SHM_TOKEN]; /* names the listener's socket; zeros in an instance's own address */
} shm_address_t;

typedef struct shm_config {
    uint64_t slot_bytes;
    int64_t slots;
    const char *domain;
} shm_config_t;

struct weft_net {
    const weft_host_t *host;
    shm_config_t config;
    bool available;    /* `own` is known; else there is no device */
    shm_address_t own; /* without a token */
};

struct weft_net_device {
    const weft_host_t *host;
    weft_net_t *net;
};

/* A mapping of one sealed memfd. */
typedef struct shm_memory {
    void *base;
    uint64_t bytes;
    int fd; /* −1 after the peer has got it */
} shm_memory_t;

struct weft_net_conn {
    const weft_host_t *host;
    weft_net_conn_t *next; /* in the listener's list, until accept() gives it out */
    uint32_t step;         /* SHM_STEP_* */
    int fd;                /* stays open: it ends when the peer ends */
    uint32_t done;         /* bytes of the current record */
    uint64_t deadline_ns;  /* acceptor only, until ready */
    uint32_t record[4];
    shm_memory_t memory;
    struct sockaddr_un name;
    weft_handshake_t handshake;
    weft_net_conn_info_t info;
};

enum {
    SHM_STEP_CONNECT = 0, /* connector */
    SHM_STEP_HANDSHAKE = 1,
    SHM_STEP_SEND_MEMORY = 2,
    SHM_STEP_READ_ACK = 3,
    SHM_STEP_READ_MEMORY = 4, /* acceptor */
    SHM_STEP_SEND_ACK = 5,
    SHM_STEP_READY = 6
};

struct weft_net_listener {
    const weft_host_t *host;
    weft_net_conn_t *joining; /* authenticated, memory not received yet */
    weft_acceptor_t acceptor;
};

/* shm_address.c */

/* Fills in where this process runs; the token is zeros. Returns false when /proc does not tell. */
bool shm_address_local(const char *domain, shm_address_t *address);
/* Parses an address. Returns ERR_PROTO, without an error text, if it is not one of this plugin. */
weft_status_t shm_address_parse(const weft_net_address_t *address, shm_address_t *parsed);
/* Tells whether processes with these addresses can share memory. */
bool shm_address_reaches(const shm_address_t *here, const shm_address_t *there);
/* Writes the abstract socket name of a token. */
void shm_address_name(const uint8_t token[SHM_TOKEN], struct sockaddr_un *name);

/* shm_memory.c */

/* Makes at least `bytes` of committed, zeroed, sealed memory. ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t shm_memory_create(const weft_host_t *host, uint64_t bytes, shm_memory_t *memory);
/* Maps a received memfd after checking its seals and size. Owns the descriptor in any case. */
weft_status_t shm_memory_attach(const weft_host_t *host, int fd, uint64_t bytes,
                                shm_memory_t *memory);
void shm_memory_release(shm_memory_t *memory);

/* shm_conn.c */

weft_status_t shm_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);
weft_status_t shm_connect_poll(weft_net_conn_t *conn);
weft_status_t shm_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info);
weft_status_t shm_conn_check(weft_net_conn_t *conn);
void shm_conn_close(weft_net_conn_t *conn);
weft_status_t shm_conn_region(weft_net_conn_t *conn, void **base_p, uint64_t *bytes_p);

/* Makes the acceptor's end over an authenticated socket, which it owns in any case. */
weft_status_t shm_conn_adopt(const weft_host_t *host, int fd, const uint8_t label[WEFT_AUTH_LABEL],
                             weft_net_conn_t **conn_p);
/* Advances the acceptor's end. Returns OK, IN_PROGRESS or a failure. */
weft_status_t shm_conn_join(weft_net_conn_t *conn);

/* shm_listener.c */

weft_status_t shm_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                         weft_net_listener_t **listener_p);
void shm_listener_close(weft_net_listener_t *listener);
weft_status_t shm_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p);

#endif
