/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the root of a join knows of each rank, and how it tells all of them a failure. A rank first
 * claims the unique id, if the launcher's exchange carries it: the root then watches its process.
 * Later it joins. Ranks in the root's own process hear of a failure last, because that process may
 * end when it has heard.
 *
 * Thread: the root's. Nothing blocks. */
#ifndef WEFT_BOOT_ROOT_TABLE_H
#define WEFT_BOOT_ROOT_TABLE_H

#include "core/boot/connector.h"
#include "core/boot/join_request.h"
#include "core/boot/wire.h"

/* What has come of the next frame: its header, and of a failure the rest, too. */
typedef struct weft_root_header {
    uint8_t data[WEFT_WIRE_HEADER];
    uint8_t *failure; /* of WEFT_WIRE_ERROR bytes; NULL: none has come */
    uint32_t bytes;
    int error;       /* of a stream that broke */
    const char *why; /* the bad field of what is no frame of this job; NULL: the stream has ended */
} weft_root_header_t;

typedef struct weft_root_seat {
    int join;    /* its connection for the join; −1: none, or not any more */
    int claim;   /* its connection for the exchange of the id; −1 as above */
    int process; /* readable when its process ends; watched until it has joined */
    bool claimed, arrived, ready, told;
    bool waits;      /* not ready, because a neighbour is not */
    int claim_broke; /* the error that sending had: receiving would only see an end; else 0 */
    /* Its connection broke, or ended before it said more than its rank: until when it may come
     * again; 0: it has one. */
    uint64_t lost;
    const char *why; /* the bad field of what it said before it was lost; NULL: nothing was wrong */
    weft_connector_t *knock;                  /* while it is lost: root_knock.h; NULL: none */
    bool answered;                            /* the last one */
    weft_root_header_t from_join, from_claim; /* of the next frame */
    weft_join_request_t request;              /* once it has claimed or arrived */
} weft_root_seat_t;

/* What a tag of the watch stands for; the upper half of the tag. */
enum { WEFT_ROOT_LISTENER, WEFT_ROOT_JOINER, WEFT_ROOT_JOIN, WEFT_ROOT_CLAIM, WEFT_ROOT_PROCESS };

typedef struct weft_root_table {
    int watch; /* of weft_os_watch_open(); the owner's */
    uint64_t comm_id;
    uint8_t tree_key[32];     /* of the ranks' listeners; the owner's to fill in */
    weft_join_request_t self; /* the root's process */
    uint32_t nranks;          /* 0: nobody came yet */
    uint32_t first;           /* rank that came first and so said nranks */
    uint32_t claimed, arrived, ready;
    uint64_t away;      /* how long a rank behind a cut is waited for, ns; the owner's to fill in */
    uint32_t told;      /* ranks that were told the failure, or died of it */
    uint32_t unseated;  /* processes that were told and have no seat: their rank is another's */
    uint64_t own_until; /* when the ranks in this process are told, unless others come before */
    uint64_t own_most;  /* the same, whoever comes */
    bool released;      /* the claims: all ranks have the id */
    bool own_told;
    bool others_told;     /* nobody else will ask */
    bool sees_processes;  /* there are descriptors to watch them */
    weft_error_t failure; /* status OK: none yet */
    weft_root_seat_t *seats;
} weft_root_table_t;

static inline uint64_t weft_root_tag(uint32_t kind, uint32_t index)
{
    return (uint64_t)kind << 32 | index;
}

void weft_root_table_init(weft_root_table_t *table, int watch, uint64_t comm_id);
/* Closes all connections. */
void weft_root_table_fini(weft_root_table_t *table);
/* Makes the seats when the first rank has said how many there are. ERR_RESOURCE: no memory, and
 * there are no seats; or RLIMIT_NOFILE is too small for a connection to each, and the seats serve
 * to tell that. */
weft_status_t weft_root_table_make(weft_root_table_t *table, const weft_join_request_t *first);

/* Finds what contradicts a join request, or a claim if `joins` is false. Returns OK, or the status,
 * the text, and the other rank in *other_p if there is one. */
weft_status_t weft_root_check(const weft_root_table_t *table, const weft_join_request_t *request,
                              bool joins, char *text, size_t bytes,
                              const weft_root_seat_t **other_p);

/* True if the request, or the claim if `joins` is false, is that of the seat, word for word: its
 * rank has lost its connection, and comes again. */
bool weft_root_comes_again(const weft_root_table_t *table, const weft_join_request_t *request,
                           bool joins);

/* The first message of `rank`: a claim or, then *joins is set, a join request. ERR_PROTO: it is
 * neither, with the bad field in *why. */
#define WEFT_ROOT_REQUEST (WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST)
weft_status_t weft_root_read_request(const weft_root_table_t *table, uint32_t rank,
                                     const uint8_t message[WEFT_ROOT_REQUEST],
                                     weft_join_request_t *request, bool *joins, const char **why);

/* Reads on in the header of a frame, which may come in pieces. AGAIN: there is more to come. LINK:
 * the stream broke, by header->error. PROTO: it has ended in another way, or it is no frame of this
 * job. */
weft_status_t weft_root_read_header(const weft_root_table_t *table, int fd,
                                    weft_root_header_t *header, weft_frame_t *frame);

/* Sends one small frame. A peer whose empty buffer does not take it is as good as gone. Returns 0,
 * or the error by which the connection broke, which is told once: reads find the end of it. */
int weft_root_send(const weft_root_table_t *table, int fd, uint32_t type, const uint8_t *payload,
                   uint32_t bytes);
void weft_root_send_error(const weft_root_table_t *table, int fd, const weft_error_t *error);
/* Tells one that comes when all have joined that its id is stale, and closes its connection. */
void weft_root_refuse(const weft_root_table_t *table, int fd, const weft_join_request_t *request);
/* Says that the rank of the seat died or, with `why`, that it sent a frame with that bad field. */
void weft_root_end_text(const weft_root_table_t *table, const weft_root_seat_t *seat,
                        const char *why, char *text, size_t bytes);

/* The join has failed: all that came are told the same. `culprit` may be NULL. Only the first
 * failure counts. */
void weft_root_fail(weft_root_table_t *table, weft_status_t status, const weft_root_seat_t *culprit,
                    const char *text);
/* The same with an error record of a rank. */
void weft_root_fail_as(weft_root_table_t *table, const weft_error_t *error);
/* Tells the failure to one that came after it and closes its connection; a rank of this process
 * waits for the others. `request` is NULL if the seat of its rank belongs to another one. */
void weft_root_tell_late(weft_root_table_t *table, int fd, const weft_join_request_t *request);
/* Tells the ranks of this process when the others were told, or own_until has come. */
void weft_root_tell_own(weft_root_table_t *table, uint64_t now);
/* True: nobody is left to be told. */
bool weft_root_all_told(const weft_root_table_t *table);

/* Closes one connection of a seat, or its process's descriptor, and sets it to −1. */
void weft_root_close(const weft_root_table_t *table, int *fd);

/* The seat has lost its connection, which has ended (`error` 0) or broke. Its rank comes again,
 * unless it died: its listener is knocked at, and where nothing comes back it is behind a cut. */
void weft_root_seat_lose(const weft_root_table_t *table, weft_root_seat_t *seat, int error);
void weft_root_seat_find(weft_root_seat_t *seat);
/* True if the rank of a seat that has lost its connection died: it did not come again, its process
 * is seen to have ended, or it does not listen any more. Goes on with the knock. */
bool weft_root_seat_is_dead(const weft_root_table_t *table, weft_root_seat_t *seat, uint64_t now);
/* True if the process of a seat can be seen, and is not there any more. */
bool weft_root_has_ended(const weft_root_table_t *table, const weft_root_seat_t *seat);

/* Takes the connection for the claim of its rank, also in place of one that broke. */
void weft_root_take_claim(weft_root_table_t *table, int fd, const weft_join_request_t *request);
/* Tells a rank whose claim was taken what it waits for, if that is so by now: that all have the id,
 * or, rank 0, that all have claimed it. */
void weft_root_answer_claim(weft_root_table_t *table, uint32_t rank);
/* The note of the id is gone: all may return from the exchange, and the next one may begin. May be
 * called again. */
void weft_root_release_claims(weft_root_table_t *table);

/* Tells a rank its neighbours in the tree, the parent last. All have arrived. Returns as
 * weft_root_send(). */
int weft_root_welcome(const weft_root_table_t *table, uint32_t rank);

/* Writes "3, 5-7" for the ranks that are not ready if `welcomed`, else have not arrived, else
 * (while ids are exchanged) have not even claimed. Of those that are not ready, ranks that said
 * that they wait for a neighbour are listed only if all did. Returns how many; *first_p is the
 * first. Cut when there are too many. */
uint32_t weft_root_missing(const weft_root_table_t *table, bool welcomed, char *text, size_t bytes,
                           uint32_t *first_p);

#endif
