/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Addresses of net-shm: where a process runs, and the name of a listener. */
#include "shm_address.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t magic[4] = {'s', 'h', 'm', '1'};

static_assert(sizeof(shm_address_t) == 64, "wire form");
static_assert(sizeof(shm_address_t) <= WEFT_NET_ADDRESS_MAX, "address too long");

/* FNV-1a: equal texts give equal hashes on all ranks. */
static uint64_t shm_hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

bool shm_address_local(const char *domain, shm_address_t *address)
{
    struct stat user;
    memset(address, 0, sizeof *address);
    memcpy(address->magic, magic, sizeof magic);
    if (!weft_host_identity_read(address->host) || stat("/proc/thread-self/ns/user", &user) != 0) {
        return false;
    }
    address->user_namespace = user.st_ino;
    address->uid = (uint32_t)geteuid();
    address->domain = shm_hash_text(domain);
    return true;
}

weft_status_t shm_address_parse(const weft_net_address_t *address, shm_address_t *parsed)
{
    if (address->bytes != sizeof *parsed || memcmp(address->data, magic, sizeof magic) != 0) {
        return WEFT_ERR_PROTO;
    }
    memcpy(parsed, address->data, sizeof *parsed);
    return WEFT_OK;
}

bool shm_address_reaches(const shm_address_t *here, const shm_address_t *there)
{
    return memcmp(here->host, there->host, sizeof here->host) == 0 &&
           here->user_namespace == there->user_namespace && here->uid == there->uid &&
           here->domain == there->domain;
}

void shm_address_name(const uint8_t token[SHM_TOKEN], struct sockaddr_un *name)
{
    /* A leading zero byte makes the name abstract: it lies in no file system and cannot be left
     * behind. */
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    size_t at = (size_t)snprintf(name->sun_path + 1, 16, "weft-shm-") + 1;
    for (size_t i = 0; i < SHM_TOKEN; i++) {
        at += (size_t)snprintf(name->sun_path + at, 3, "%02x", token[i]);
    }
}
