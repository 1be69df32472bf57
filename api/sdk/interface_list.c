/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of interfaces. A service that systemd starts with RestrictAddressFamilies, and
 * containers with a filter of their own, often have no sockets of AF_NETLINK. */
#include <weft/sdk/interface_list.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES_MOST 256

/* An address by SIOCGIFCONF. The list is an array of these, in one block. */
typedef struct interface_item {
    struct ifaddrs entry; /* the first field: see weft_interface_list_free() */
    char name[IFNAMSIZ];
    struct sockaddr_in address, mask;
} interface_item_t;

/* Asks for one property of an interface. */
static bool interface_ask(int fd, unsigned long what, const char *name, struct ifreq *answer)
{
    memset(answer, 0, sizeof *answer);
    memcpy(answer->ifr_name, name, IFNAMSIZ - 1);
    return ioctl(fd, what, answer) == 0;
}

/* Returns false if the interface has gone meanwhile. */
static bool interface_item_fill(int fd, const struct ifreq *found, interface_item_t *item)
{
    struct ifreq flags, mask;
    if (!interface_ask(fd, SIOCGIFFLAGS, found->ifr_name, &flags) ||
        !interface_ask(fd, SIOCGIFNETMASK, found->ifr_name, &mask)) {
        return false;
    }
    memset(item, 0, sizeof *item);
    memcpy(item->name, found->ifr_name, IFNAMSIZ - 1);
    item->name[strcspn(item->name, ":")] = '\0'; /* a second address has the name "eth0:1" */
    memcpy(&item->address, &found->ifr_addr, sizeof item->address);
    memcpy(&item->mask, &mask.ifr_netmask, sizeof item->mask);
    item->mask.sin_family = AF_INET;
    item->entry = (struct ifaddrs){.ifa_name = item->name,
                                   .ifa_flags = (unsigned short)flags.ifr_flags,
                                   .ifa_addr = (struct sockaddr *)&item->address,
                                   .ifa_netmask = (struct sockaddr *)&item->mask};
    return true;
}

static interface_item_t *interface_items(int fd)
{
    struct ifreq *found = calloc(ADDRESSES_MOST, sizeof *found);
    interface_item_t *items = calloc(ADDRESSES_MOST, sizeof *items);
    struct ifconf config = {.ifc_len = ADDRESSES_MOST * sizeof *found, .ifc_req = found};
    size_t count = 0;
    if (found == NULL || items == NULL || ioctl(fd, SIOCGIFCONF, &config) != 0) {
        int cause = errno;
        free(found);
        free(items);
        errno = cause;
        return NULL;
    }
    for (size_t i = 0; i < (size_t)config.ifc_len / sizeof *found; i++) {
        if (found[i].ifr_addr.sa_family == AF_INET &&
            interface_item_fill(fd, &found[i], &items[count])) {
            count++;
        }
    }
    for (size_t i = 1; i < count; i++) {
        items[i - 1].entry.ifa_next = &items[i].entry;
    }
    free(found);
    if (count == 0) {
        free(items);
        errno = ENODEV;
        return NULL;
    }
    return items;
}

/* What is short for a moment is no reason to do with less. */
static bool interface_is_shortage(int cause)
{
    return cause == EMFILE || cause == ENFILE || cause == ENOMEM || cause == ENOBUFS;
}

bool weft_interface_list_get(weft_interface_list_t *list)
{
    *list = (weft_interface_list_t){.first = NULL};
    if (getifaddrs(&list->first) == 0) {
        return true;
    }
    list->first = NULL;
    int cause = errno;
    if (interface_is_shortage(cause)) {
        return false;
    }
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    interface_item_t *items = fd >= 0 ? interface_items(fd) : NULL;
    if (fd >= 0) {
        close(fd);
    }
    list->first = items != NULL ? &items->entry : NULL;
    list->ipv4_only = items != NULL;
    errno = cause;
    return items != NULL;
}

void weft_interface_list_free(weft_interface_list_t *list)
{
    if (list->ipv4_only) {
        free(list->first); /* the first field of the block */
    } else if (list->first != NULL) {
        freeifaddrs(list->first);
    }
    *list = (weft_interface_list_t){.first = NULL};
}
