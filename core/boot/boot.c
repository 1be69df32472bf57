/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a joined rank can be asked. */
#include "core/boot/boot.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/boot_state.h"

const weft_boot_peer_t *weft_boot_peers(const weft_boot_t *boot)
{
    return boot->peers;
}

uint32_t weft_boot_hosts(const weft_boot_t *boot)
{
    return boot->hosts;
}

uint64_t weft_boot_comm_id(const weft_boot_t *boot)
{
    return boot->comm_id;
}

const uint8_t *weft_boot_key(const weft_boot_t *boot)
{
    return boot->key;
}

void weft_boot_learn(weft_boot_t *boot, const weft_join_request_t *request)
{
    weft_boot_peer_t *peer = &boot->peers[request->rank];
    memcpy(peer->host_id, request->host_id, sizeof peer->host_id);
    memcpy(peer->host_name, request->host_name, sizeof peer->host_name);
    peer->pid = request->pid;
    boot->requests[request->rank] = *request;
}

void weft_boot_rank_text(const weft_boot_t *boot, uint32_t rank, char *text, size_t bytes)
{
    const weft_boot_peer_t *peer = &boot->peers[rank];
    if (peer->host_name[0] != '\0') {
        snprintf(text, bytes, "rank %u of host %s, pid %d", rank, peer->host_name, peer->pid);
    } else {
        snprintf(text, bytes, "rank %u", rank);
    }
}

weft_status_t weft_boot_set_culprit(const weft_boot_t *boot, uint32_t rank)
{
    weft_error_t *error = weft_error_record();
    error->rank = (int32_t)boot->rank;
    error->comm_id = boot->comm_id;
    error->peer = (int32_t)rank;
    if (boot->peers[rank].host_name[0] != '\0') {
        error->peer_pid = boot->peers[rank].pid;
        memcpy(error->peer_host, boot->peers[rank].host_name, sizeof error->peer_host);
    }
    return error->status;
}
