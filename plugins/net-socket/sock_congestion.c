/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sock_congestion.h. BBR: N. Cardwell et al., BBR: Congestion-Based Congestion Control, ACM
 * Queue 14(5), 2016. */
#include "sock_congestion.h"

#include <errno.h>
#include <linux/tcp.h> /* netinet/tcp.h does not know the least round trip */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAR_US 5000
#define AVAILABLE "/proc/sys/net/ipv4/tcp_available_congestion_control"

bool sock_congestion_paces(const char *system)
{
    return strncmp(system, "bbr", 3) == 0;
}

static bool sock_congestion_try(int fd, const char *name)
{
    return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0;
}

static weft_status_t sock_congestion_refuse(const weft_host_t *host, const char *wanted, int cause)
{
    char names[256] = "";
    FILE *file = fopen(AVAILABLE, "r");
    if (file == NULL || fgets(names, sizeof names, file) == NULL) {
        snprintf(names, sizeof names, "see %s", AVAILABLE);
    }
    if (file != NULL) {
        fclose(file);
    }
    names[strcspn(names, "\n")] = '\0';
    return host->set_error(
        host, WEFT_ERR_CONFIG, 0,
        "[net-socket] congestion is \"%s\", %s; expected auto, system, or one of: %s", wanted,
        cause == EPERM ? "which only root may choose" : "which this kernel does not have", names);
}

/* A control for near hosts, the first that can be had. */
static void sock_congestion_find_near(const weft_host_t *host, int fd, sock_congestion_t *found)
{
    static const char *const near[] = {"cubic", "reno"};
    char system[SOCK_CONGESTION_NAME] = "";
    socklen_t bytes = sizeof system - 1;
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, system, &bytes) != 0 ||
        !sock_congestion_paces(system)) {
        return;
    }
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        if (sock_congestion_try(fd, near[i])) {
            snprintf(found->all, sizeof found->all, "%s", near[i]);
            snprintf(found->far, sizeof found->far, "%s", system);
            host->log(host, WEFT_LOG_INFO,
                      "sockets to near hosts use %s; the system's %s paces them "
                      "(net-socket.congestion = system keeps it)",
                      near[i], system);
            return;
        }
    }
}

weft_status_t sock_congestion_find(const weft_host_t *host, const char *wanted,
                                   sock_congestion_t *found)
{
    weft_status_t status = WEFT_OK;
    *found = (sock_congestion_t){.far_us = FAR_US};
    if (strcmp(wanted, "system") == 0) {
        return WEFT_OK;
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fd = fd < 0 ? socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) : fd;
    if (fd < 0) {
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot open a socket");
    }
    if (strcmp(wanted, "auto") == 0) {
        sock_congestion_find_near(host, fd, found);
    } else if (strlen(wanted) < sizeof found->all && sock_congestion_try(fd, wanted)) {
        snprintf(found->all, sizeof found->all, "%s", wanted);
    } else {
        status = sock_congestion_refuse(host, wanted, errno);
    }
    close(fd);
    return status;
}

void sock_congestion_set(const sock_congestion_t *congestion, int fd)
{
    if (congestion->all[0] != '\0') {
        (void)sock_congestion_try(fd, congestion->all);
    }
}

void sock_congestion_settle(const sock_congestion_t *congestion, int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    if (congestion->far[0] != '\0' && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
        info.tcpi_min_rtt >= congestion->far_us && info.tcpi_min_rtt != UINT32_MAX) {
        (void)sock_congestion_try(fd, congestion->far);
    }
}
