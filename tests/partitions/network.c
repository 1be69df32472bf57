/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See partitions.h. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "partitions.h"
#include "tests/support/sandbox.h"

const char *const cut_names[CUTS] = {"off", "deaf", "mute", "apart"};

/* Keeps a network of its own, whose descriptor the caller has. */
static bool keeper_start(network_t *network, uint32_t host)
{
    char path[64], told = 0;
    int pipe_fds[2];
    if (pipe(pipe_fds) != 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        told = unshare(CLONE_NEWNET) == 0;
        (void)!write(pipe_fds[1], &told, 1);
        for (;;) {
            pause();
        }
    }
    bool apart = read(pipe_fds[0], &told, 1) == 1 && told != 0;
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    network->keepers[host] = child;
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)child);
    network->fds[host] = apart ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return network->fds[host] >= 0 && hosts_connect(host, network->nhosts, child);
}

const char *network_open(network_t *network, uint32_t nhosts)
{
    const char *lacks = sandbox_enter();
    *network = (network_t){.nhosts = nhosts};
    if (lacks != NULL) {
        return lacks;
    }
    if (!hosts_begin()) {
        return "no virtual networks: they need ip and namespaces";
    }
    for (uint32_t h = 0; h < nhosts; h++) {
        if (!keeper_start(network, h)) {
            return "no virtual interfaces";
        }
    }
    return NULL;
}

bool network_enter(const network_t *network, uint32_t host)
{
    return setns(network->fds[host], CLONE_NEWNET) == 0;
}

/* Some hosts on one side, and the others, which are at least one, on the other side. */
static void divide(network_t *network, uint32_t behind)
{
    for (uint32_t h = 0; h < network->nhosts; h++) {
        host_move(h, (behind >> h & 1) != 0);
    }
    hosts_divide(true);
    network->hurt = UINT32_MAX;
    snprintf(network->cut, sizeof network->cut, "hosts %#x are apart", behind);
}

void network_cut(network_t *network, cut_t cut, unsigned *seed)
{
    const uint32_t host = (uint32_t)rand_r(seed) % network->nhosts;
    const uint32_t all = (1u << network->nhosts) - 1;
    if (cut == CUTS) {
        cut = (cut_t)((unsigned)rand_r(seed) % CUTS);
    }
    if (cut == CUT_APART) {
        divide(network, 1 + (uint32_t)rand_r(seed) % (all - 1));
        return;
    }
    network->hurt = 1u << host;
    snprintf(network->cut, sizeof network->cut, "host %u is %s", host, cut_names[cut]);
    if (cut == CUT_OFF) {
        host_plug(host, false);
    } else if (cut == CUT_DEAF) {
        host_deafen(host);
    } else {
        host_mute(network->keepers[host]);
    }
}

void network_heal(network_t *network)
{
    hosts_divide(false);
    for (uint32_t h = 0; h < network->nhosts; h++) {
        if ((network->hurt >> h & 1) != 0) {
            host_plug(h, true);
            host_heal(h, network->keepers[h]);
            host_move(h, false);
        }
    }
    network->hurt = 0;
}

void network_close(network_t *network)
{
    for (uint32_t h = 0; h < network->nhosts; h++) {
        kill(network->keepers[h], SIGKILL);
        waitpid(network->keepers[h], NULL, 0);
        close(network->fds[h]);
    }
}
