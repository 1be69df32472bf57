/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Leaving, and what a joined rank can be asked. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/join_root.h"
#include "core/boot/boot_state.h"
#include "core/os/os.h"

weft_status_t weft_boot_id_create(const weft_boot_settings_t *settings, weft_unique_id_t *id)
{
    return weft_root_start(settings, id);
}

/* Before the health thread took over, neighbours may wait for us in an exchange. */
static void tell_neighbours(weft_boot_t *boot)
{
    char who[128];
    if (boot->failed) {
        return;
    }
    weft_error_t before = *weft_error_record();
    weft_boot_rank_text(boot, boot->rank, who, sizeof who);
    weft_fail(WEFT_ERR_PEER_LEFT, 0, "%s gave up during initialisation", who);
    weft_boot_set_culprit(boot, boot->rank);
    weft_boot_spread_failure(boot);
    *weft_error_record() = before;
}

void weft_boot_leave(weft_boot_t *boot)
{
    if (boot == NULL) {
        return;
    }
    if (boot->health != NULL) {
        weft_health_stop(boot);
    } else {
        tell_neighbours(boot);
    }
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        weft_os_close(boot->links[i].fd);
    }
    weft_control_listener_close(&boot->listener);
    weft_os_free(boot->peers);
    weft_os_free(boot->requests);
    sodium_memzero(boot, sizeof *boot);
    weft_os_free(boot);
}

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
