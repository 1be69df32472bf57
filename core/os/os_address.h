/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internet addresses as bytes and as text, and the addresses of this host. */
#ifndef WEFT_OS_ADDRESS_H
#define WEFT_OS_ADDRESS_H

#include <stdbool.h>

#include <weft/types.h>

/* An address as it travels. Addresses of interfaces have port 0. */
typedef struct weft_os_addr {
    uint8_t family; /* 4, 6, or 0: none */
    uint8_t reserved;
    uint16_t port;
    uint8_t bytes[16]; /* network order; IPv4 uses the first four */
} weft_os_addr_t;

#define WEFT_OS_ADDR_BYTES 20
#define WEFT_OS_ADDR_TEXT 56

void weft_os_addr_encode(const weft_os_addr_t *addr, uint8_t bytes[WEFT_OS_ADDR_BYTES]);
/* ERR_PROTO if the family is unknown or the port is 0. Family 0 is legal and means none. */
weft_status_t weft_os_addr_decode(const uint8_t bytes[WEFT_OS_ADDR_BYTES], weft_os_addr_t *addr);
/* Writes the address as "10.0.0.1:4711" or "[fe80::1]:4711". */
void weft_os_addr_text(const weft_os_addr_t *addr, char text[WEFT_OS_ADDR_TEXT]);

/* Writes the addresses with commas between them, as many as fit. */
void weft_os_addrs_text(const weft_os_addr_t *addrs, uint32_t count, char *text, size_t bytes);
/* Tells whether nobody but this host reaches itself there: 127.0.0.0/8 or ::1, whatever interface
 * has it. */
bool weft_os_addr_is_loopback(const weft_os_addr_t *addr);
/* Tells whether `host` is a link-local IPv6 address, with a scope ("fe80::1%eth0") or without:
 * other hosts cannot use it. */
bool weft_os_host_is_link_local(const char *host);

/* Fills `addrs` with usable addresses of this host, best first: those of `near`, then real
 * interfaces, then what is no loopback address but lies on the loopback interface, then bridges of
 * containers and virtual machines, then loopback; of equal ones first what the default route leaves
 * from. `near`: addresses, of any port, by which others are known to reach this host; loopback and
 * those of other hosts do not count; it ends with family 0; NULL: none. `filter` is a comma list of
 * name prefixes: a leading '^' excludes them, a leading '=' means whole names, "^=" both; NULL or
 * "" takes all. But for `near`, an interface that the list names comes in the list's order. Returns
 * how many of `max` were filled, or 0 with the error recorded. */
uint32_t weft_os_addrs(const char *filter, const weft_os_addr_t *near, weft_os_addr_t *addrs,
                       uint32_t max);
/* Finds the addresses of a host, given as a name or an address, and gives them `port`. Returns how
 * many of `max` were filled, or 0 with ERR_LINK recorded, which names the host. Blocks as long as
 * the resolver of the system does. */
uint32_t weft_os_addr_find(const char *host, uint16_t port, weft_os_addr_t *addrs, uint32_t max);
/* Returns the place of interface `name` in a list of names, from 1; 1 if no name was asked for;
 * 0: it does not pass the filter. */
uint32_t weft_os_interface_rank(const char *filter, const char *name);

#endif
