/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbours of a rank in the control tree: connections that are always read and never waited
 * for to write. This module moves frames; it does not know what they mean.
 *
 * Thread: the health thread's. Nothing blocks. */
#ifndef WEFT_BOOT_NEIGHBOUR_H
#define WEFT_BOOT_NEIGHBOUR_H

#include "core/boot/boot_state.h"
#include "core/boot/wire.h"

#define WEFT_NEIGHBOURS_RESERVED 4 /* poll entries of the caller, before those of the neighbours */

typedef struct weft_neighbour {
    int fd;      /* −1: ended, removed at the end of the step */
    int process; /* readable when the peer's process has ended; −1: cannot be watched */
    uint32_t rank;
    bool ended_sending;
    int broken_by;  /* what a send failed with; 0: none did */
    bool fresh;     /* connected after ranks left, and it has not sent a byte yet */
    uint64_t asked; /* since when a sign of life is awaited; 0: nobody asked for one */
    bool doubted;   /* `doubter`, a rank above it, has lost it; over with the next sign of life */
    uint32_t doubter;
    uint32_t in_bytes;  /* in `in` */
    uint32_t in_served; /* of these, returned as frames */
    uint8_t in[2 * WEFT_WIRE_LONGEST];
    uint8_t *out;
    size_t out_at, out_end, out_room;
} weft_neighbour_t;

typedef struct weft_neighbours {
    const weft_boot_t *boot;
    bool muted; /* this rank was declared dead: the others go round it, so it floods nothing */
    bool quiet; /* it may be cut off itself: it floods nothing until it hears somebody */
    uint32_t count, room;
    weft_neighbour_t *list; /* may move when a neighbour is added or removed */
    struct pollfd *entries; /* WEFT_NEIGHBOURS_RESERVED, then two for each neighbour */
} weft_neighbours_t;

/* ERR_RESOURCE. */
weft_status_t weft_neighbours_init(weft_neighbours_t *neighbours, const weft_boot_t *boot);
/* Returns the bytes of the lists and buffers; adds the open descriptors to *descriptors_p. */
uint64_t weft_neighbours_bytes(const weft_neighbours_t *neighbours, uint32_t *descriptors_p);
void weft_neighbours_fini(weft_neighbours_t *neighbours);

/* True if the rank's process is another one than ours, and can be seen from here. */
bool weft_neighbour_is_visible(const weft_boot_t *boot, uint32_t rank);
/* False: the rank's listener is closed, for it has left, or has given up while the ranks joined,
 * although its process goes on. Known of ranks whose process can be seen only, or is ours. */
bool weft_neighbour_listens(const weft_boot_t *boot, uint32_t rank);

/* Adds the connection to `rank`, at the end of the list. Owns `fd`, also on failure.
 * ERR_RESOURCE. */
weft_status_t weft_neighbours_add(weft_neighbours_t *neighbours, int fd, uint32_t rank);
/* NULL: `rank` is no neighbour. */
weft_neighbour_t *weft_neighbours_find(const weft_neighbours_t *neighbours, uint32_t rank);
/* Removes the neighbours that have ended. */
void weft_neighbours_compact(weft_neighbours_t *neighbours);
/* Fills the poll entries of all neighbours. Returns how many entries there are, reserved ones
 * too. */
uint32_t weft_neighbours_prepare(weft_neighbours_t *neighbours);

/* Sends to all neighbours but one, which may be NULL. */
void weft_neighbours_flood(weft_neighbours_t *neighbours, const weft_neighbour_t *except,
                           const weft_frame_t *frame, const uint8_t *payload);
/* Sends to one. Who gets an ASK owes a sign of life from then on: any frame but an ASK of its own.
 * A frame that is repeated anyway (BEAT, ASK, ANSWER) is dropped while many bytes wait. */
void weft_neighbour_send(const weft_neighbours_t *neighbours, weft_neighbour_t *neighbour,
                         const weft_frame_t *frame, const uint8_t *payload);
/* Sends a frame as it was made to one: the header, and `bytes` of payload. Without memory it sends
 * neither: a header alone would take what follows for its payload. */
void weft_neighbour_send_made(weft_neighbour_t *neighbour, const uint8_t header[WEFT_WIRE_HEADER],
                              const uint8_t *payload, size_t bytes);
/* Frames wait until many have come together, or the caller flushes: a rank that leaves makes every
 * other rank pass on a frame. Passes waiting bytes of all to the kernel, as many as it takes. */
void weft_neighbours_flush(weft_neighbours_t *neighbours);
/* The same for one. */
void weft_neighbour_flush(weft_neighbour_t *neighbour);
/* Says that nothing follows, after the last byte was flushed, and after what a new connection
 * begins with was served: a rank that joins asks there for what it lacks. */
void weft_neighbour_end_sending(weft_neighbour_t *neighbour);

/* Receives bytes. Returns OK; AGAIN: nothing is there; ERR_LINK: the stream has ended, *errno_p =
 * 0, or broken. */
weft_status_t weft_neighbour_receive(weft_neighbour_t *neighbour, int *errno_p);
/* Takes the next whole frame of what was received; *payload_p is valid until the next receive.
 * Returns OK, AGAIN, or ERR_PROTO with the bad field in *why. */
weft_status_t weft_neighbour_next_frame(const weft_neighbours_t *neighbours,
                                        weft_neighbour_t *neighbour, weft_frame_t *frame,
                                        const uint8_t **payload_p, const char **why);

void weft_neighbour_close(weft_neighbour_t *neighbour);

#endif
