/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: the network interfaces of this host: a choice of them by name, and their addresses. Nothing
 * here waits for a peer; every function may be called from any thread. */
#ifndef WEFT_SDK_NET_INTERFACE_H
#define WEFT_SDK_NET_INTERFACE_H

#include <weft/sdk/choice.h>
#include <weft/sdk/endpoint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_INTERFACE_TEXT 512 /* bytes of the longest list of interfaces, with its zero byte */

/* A choice of interfaces (choice.h), where a word may also be a network ("10.0.0.0/8", "fd00::/8"):
 * "^docker, lo", "=eth0,ib0", "eth, ^eth1". "" is all, with docker and bridges only where there is
 * nothing else. */
typedef weft_choice_t weft_interface_filter_t;

/* Parses a choice of interfaces. `text` must outlive the filter. */
void weft_interface_filter_parse(const char *text, weft_interface_filter_t *filter);
/* Tells whether the filter admits interface `name` with this address; NULL: by its name alone. */
bool weft_interface_filter_admits(const weft_interface_filter_t *filter, const char *name,
                                  const weft_endpoint_t *address);

/* Lists the addresses, with port 0, of the interfaces that are up and admitted. `family` is 0 for
 * any, 1 for IPv4, 2 for IPv6. Link-local addresses are left out, because they mean nothing to
 * another host. An address is loopback if it is of 127.0.0.0/8 or ::1, whatever interface it lies
 * on. Returns OK (the list may be empty), ERR_SYSTEM, or ERR_CONFIG if a word chooses
 * nothing that this host has; the text lists what it has. A word that leaves out nothing here is a
 * line at level info. */
weft_status_t weft_endpoint_list_local(const weft_host_t *host,
                                       const weft_interface_filter_t *filter, int64_t family,
                                       weft_endpoint_list_t *list);

/* Stores the address from which the default route of `family` (AF_INET or AF_INET6) leaves, with
 * port 0. Nothing is sent. Returns false if there is no such route. */
bool weft_interface_default(int family, weft_endpoint_t *point);

/* Makes the address of a listener on this host at most `bytes` long, where a carrier has room for
 * no more: entries of the list at its end are left out. Those from which a default route leaves
 * come first, then the others in the order of the list. Something may stand before the list, and is
 * kept. Returns false, with the address unchanged, if it does not end with a list, or if not even
 * one entry fits. */
bool weft_interface_shorten(weft_net_address_t *address, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
