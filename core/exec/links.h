/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: the connections of one communicator, made when a plan first needs them. A link joins two
 * ranks on one channel and carries a port in each direction. The lower rank connects, over the first
 * transport of the INI that can reach the peer; the higher rank accepts on all of them. Where memory is
 * mapped, the two then agree where the payloads lie (place.h), for each port that is asked for. Where
 * messages are carried, each end decides for itself (direct.h). */
#ifndef WEFT_EXEC_LINKS_H
#define WEFT_EXEC_LINKS_H

#include "core/exec/port.h"
#include "core/exec/nets.h"

typedef struct weft_links weft_links_t;

typedef struct weft_links_setup {
    weft_nets_t *nets;
    uint32_t nranks, rank;
    const uint32_t
        *family; /* per rank of the communicator: its rank in the family; kept by the caller */
    uint64_t comm_id;
    weft_sharing_t sharing; /* of the kernel, as the next */
    weft_direct_t direct;
    weft_windows_t *windows; /* of the communicator */
    bool first;              /* of its family */
    uint32_t slots;          /* depth and size of all slots, equal on all ranks; a power of two */
    uint64_t slot_bytes;
} weft_links_setup_t;

weft_status_t weft_links_create(const weft_links_setup_t *setup, weft_links_t **links_p);
void weft_links_destroy(weft_links_t *links);

/* Registers memory with transport i, or does nothing if it does not register memory. */
weft_status_t weft_links_reg(weft_links_t *links, uint32_t i, void *memory, uint64_t bytes,
                             weft_net_region_t **region_p);
void weft_links_dereg(weft_links_t *links, uint32_t i, weft_net_region_t *region);

/* The port to or from `peer` on `channel`; begins to connect where this rank must. NULL while the link
 * is not ready. A failure is kept and told by weft_links_progress. */
weft_port_t *weft_links_port(weft_links_t *links, uint32_t peer, uint32_t channel, bool sends);

/* Advances connections under way and accepts new ones; for callers whose port is not ready. */
weft_status_t weft_links_progress(weft_links_t *links);
/* Takes completions of all message transports. */
weft_status_t weft_links_poll(weft_links_t *links);
/* True if some link carries messages, that is if weft_links_poll has to be called. */
bool weft_links_have_messages(const weft_links_t *links);
/* A descriptor that becomes readable when weft_links_poll may find something. AGAIN: there is something
 * already. ERR_UNSUPPORTED: no message transport, more than one, or one that cannot tell. */
weft_status_t weft_links_wait_fd(weft_links_t *links, int *fd_p);
/* Looks whether the peer of a port is still there. */
weft_status_t weft_links_check(weft_links_t *links, const weft_port_t *port);
/* Tells devices of the windows, after they have changed. The device's failure. */
weft_status_t weft_links_show_windows(weft_links_t *links);
/* Whether what a device sent waits in slots to leave. */
bool weft_links_have_unsent(const weft_links_t *links);
/* Name of the transport that serves `peer`. */
const char *weft_links_transport(const weft_links_t *links, uint32_t peer);
/* Whether a link to `peer` carries messages in memory of the device. */
bool weft_links_is_direct(const weft_links_t *links, uint32_t peer);
/* Posts sends and receives that had to wait for resources, and steps the relays, on all links. *moved_p:
 * a relay passed something on. The failure of the first port that is broken. */
weft_status_t weft_links_flush(weft_links_t *links, bool *moved_p);

#endif
