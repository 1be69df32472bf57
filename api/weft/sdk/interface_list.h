/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interfaces of this host with their addresses, also where the system refuses what getifaddrs()
 * needs. */
#ifndef WEFT_SDK_INTERFACE_LIST_H
#define WEFT_SDK_INTERFACE_LIST_H

#include <stdbool.h>

struct ifaddrs;

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_interface_list {
    struct ifaddrs *first; /* as of getifaddrs(3); NULL: there is none */
    /* getifaddrs() failed, which asks by a socket of AF_NETLINK: the list has IPv4 addresses of
     * interfaces that are up only, by SIOCGIFCONF (netdevice(7)). */
    bool ipv4_only;
} weft_interface_list_t;

/* Fills *list, which belongs to the caller until weft_interface_list_free(). Returns false with
 * errno of getifaddrs() if neither way gives a list, or if it failed for want of descriptors or
 * memory. Any thread. */
bool weft_interface_list_get(weft_interface_list_t *list);
/* Frees what weft_interface_list_get() has given. Any thread. */
void weft_interface_list_free(weft_interface_list_t *list);

#ifdef __cplusplus
}
#endif

#endif
