/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses of net-shm: where a process runs, and the name of a listener. */
#ifndef WEFT_PLUGINS_NET_SHM_ADDRESS_H
#define WEFT_PLUGINS_NET_SHM_ADDRESS_H

#include <stdbool.h>
#include <sys/un.h>

#include <weft/plugin/net.h>
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

/* Fills in where this process runs; the token is zeros. Returns false when /proc does not tell. */
bool shm_address_local(const char *domain, shm_address_t *address);
/* Parses an address. Returns ERR_PROTO, without an error text, if it is not one of this plugin. */
weft_status_t shm_address_parse(const weft_net_address_t *address, shm_address_t *parsed);
/* Tells whether processes with these addresses can share memory. */
bool shm_address_reaches(const shm_address_t *here, const shm_address_t *there);
/* Writes the abstract socket name of a token. */
void shm_address_name(const uint8_t token[SHM_TOKEN], struct sockaddr_un *name);

#endif
