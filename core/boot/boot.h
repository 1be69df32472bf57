/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bootstrap: from a unique id to a tree of authenticated control connections over all ranks. */
#ifndef WEFT_BOOT_BOOT_H
#define WEFT_BOOT_BOOT_H

#include "core/config/settings.h"

typedef struct weft_boot weft_boot_t;

#define WEFT_BOOT_KEY 32

/* What every rank knows of every rank after the join. */
typedef struct weft_boot_peer {
    uint8_t host_id[16];
    char host_name[64];
    int32_t pid;
    uint32_t host; /* 0 … nhosts−1, in order of first appearance by rank */
} weft_boot_peer_t;

/* As weft_unique_id_create(). */
weft_status_t weft_boot_id_create(const weft_boot_settings_t *settings, weft_unique_id_t *id);

/* As the joining part of weft_comm_init_rank(). nranks 1 opens no socket. */
weft_status_t weft_boot_join(const weft_boot_settings_t *settings, uint32_t nranks,
                             const weft_unique_id_t *id, uint32_t rank, weft_boot_t **boot_p);
/* Closes all connections; also ends the health thread. NULL is allowed. */
void weft_boot_leave(weft_boot_t *boot);

/* Collects `bytes` from every rank, in rank order, on every rank, in O(log n) rounds over the control
 * tree. All ranks call it with the same `bytes`. Before weft_health_start() only. `what` names the
 * step in errors. ERR_PEER_DEAD, ERR_TIMEOUT (names whom), ERR_PROTO, ERR_RESOURCE. */
weft_status_t weft_boot_all_gather(weft_boot_t *boot, const char *what, const void *mine,
                                   size_t bytes, void *all);
/* All ranks receive rank 0's bytes (at most `max`; *bytes_p in and out). */
weft_status_t weft_boot_broadcast(weft_boot_t *boot, const char *what, void *data, size_t max,
                                  size_t *bytes_p);

const weft_boot_peer_t *weft_boot_peers(const weft_boot_t *boot); /* nranks of them */
uint32_t weft_boot_hosts(const weft_boot_t *boot);
uint64_t weft_boot_comm_id(const weft_boot_t *boot);
/* Key for data connections, derived from the id's secret. */
const uint8_t *weft_boot_key(const weft_boot_t *boot);

/* "rank 3 of host a, pid 71", or "rank 3" while no more is known. */
void weft_boot_rank_text(const weft_boot_t *boot, uint32_t rank, char *text, size_t bytes);

/* Compares `text` ("key=value" lines: plugins, versions, configuration) with rank 0's. If any rank
 * differs all ranks fail with ERR_MISMATCH: that rank, the first differing key and both values. */
weft_status_t weft_boot_agree(weft_boot_t *boot, const char *text);

#endif
