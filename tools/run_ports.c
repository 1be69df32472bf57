/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See run_ports.h. */
#include "tools/run_ports.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/config/config.h"
#include "core/os/os.h"

/* The value that the ranks see: the last one wins. NULL: there is none. */
static const char *run_ports_variable(const run_job_t *job, const char *name)
{
    const size_t length = strlen(name);
    for (uint32_t i = job->variable_count; i > 0; i--) {
        const char *variable = job->variables[i - 1];
        if (strncmp(variable, name, length) == 0 && variable[length] == '=') {
            return variable + length + 1;
        }
    }
    return NULL;
}

weft_port_range_t run_ports_configured(const run_job_t *job)
{
    weft_port_range_t range = {0, 0};
    weft_config_t *config = NULL;
    const char *given = run_ports_variable(job, "WEFT_BOOT_PORT_RANGE");
    const weft_comm_options_t options = {.size = sizeof options,
                                         .config = run_ports_variable(job, "WEFT_CONF")};
    if (given == NULL && weft_config_load(&options, &config) == WEFT_OK) {
        given = weft_config_given(config, "boot", "port_range");
    }
    if (given != NULL && !weft_port_range_parse(given, &range)) {
        range = (weft_port_range_t){0, 0};
    }
    weft_config_destroy(config);
    return range;
}

/* Who holds a port lets rank 0 listen there, and others hold it only where they say so before they
 * bind: no two jobs do, `shares` apart. That is for ports on which the connections of an earlier
 * job still end. */
static bool run_ports_bind(int fd, uint16_t port, bool shares)
{
    const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int yes = 1, no = 0;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, shares ? &yes : &no, sizeof yes) == 0 &&
           bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0;
}

static bool run_ports_take(int fd, const weft_port_range_t *range, uint16_t *port_p)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t bytes = sizeof at;
    const uint32_t span = weft_port_range_span(range);
    uint32_t start = 0;
    bool fine = false;
    (void)weft_os_random(&start, sizeof start);
    for (uint32_t i = 0; !fine && i < 2 * span; i++) {
        fine = run_ports_bind(fd, weft_port_range_at(range, start, i % span), i >= span);
    }
    fine = fine && getsockname(fd, (struct sockaddr *)&at, &bytes) == 0;
    *port_p = ntohs(at.sin_port);
    return fine;
}

bool run_ports_hold(const weft_port_range_t *range, int sockets[2], uint16_t ports[2])
{
    static const weft_port_range_t any = {0, 0};
    for (int i = 0; i < 2; i++) {
        sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (sockets[i] < 0 || !run_ports_take(sockets[i], i == 0 ? range : &any, &ports[i])) {
            return false;
        }
    }
    return true;
}
