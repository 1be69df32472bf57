/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job whose ranks lose each other: each is on a host of its own, and hosts are cut off for
 * seconds, in one direction or both. What a rank and the test tell each other is in memory that all
 * processes share. */
#ifndef TESTS_PARTITIONS_H
#define TESTS_PARTITIONS_H

#include <stdatomic.h>
#include <sys/types.h>

#include <weft/weft.h>

#include "tests/support/survivor.h"

enum { HOSTS_MOST = 8, MEMBERS_MOST = 1 << 14, SETS_MOST = 1 << 14, WORDS = 600 };

/* Members -------------------------------------------------------------------------------------- */

/* A member is a process that is or was a rank. A seat, which is a rank's number, has one after the
 * other, and for a while two: one that the others have lost, and the one that replaces it. */
typedef enum state {
    PLAYS,
    ENDED, /* all members did, as the test has asked for */
    LOST,  /* the others go on without it, or nobody does */
    WRONG
} state_t;

typedef struct member {
    _Atomic uint32_t state;
    _Atomic uint64_t right_at; /* ns: its last right result in a communicator of all seats */
    _Atomic uint64_t longest;  /* ns, of its calls while it plays */
    char why[WORDS];           /* it is lost, or wrong */
} member_t;

typedef struct seat {
    weft_ticket_t ticket;
    _Atomic uint32_t wanted; /* tickets so far: counts newcomers that the test starts */
} seat_t;

typedef struct board {
    weft_unique_id_t id;
    _Atomic uint32_t ready, stop;
    _Atomic uint64_t steps;
    seat_t seats[HOSTS_MOST];
    member_t members[MEMBERS_MOST];
    _Atomic uint32_t nsets;
    _Atomic uint64_t sets[SETS_MOST];
} board_t;

typedef struct task {
    board_t *board;
    uint32_t nranks, seat, member;
    bool first; /* not a newcomer */
    unsigned seed;
    unsigned limit_s; /* boot.unresponsive */
} task_t;

/* The life of a member; returns the exit code of its process. */
int member_live(const task_t *task);

/* Sets ----------------------------------------------------------------------------------------- */

/* Who is in a communicator of all seats, in the order in which such communicators had their first
 * right result. Processes may die at any moment, so there is no lock. */

/* Returns the place of the set, which is the newest one if it is not known yet. */
uint32_t sets_place(board_t *board, const uint32_t *members, uint32_t count);
/* Returns the place of the newest one. */
uint32_t sets_newest(board_t *board);

/* The network ---------------------------------------------------------------------------------- */

typedef enum cut {
    CUT_OFF,   /* a host, in both directions */
    CUT_DEAF,  /* nothing reaches it */
    CUT_MUTE,  /* nothing comes from it */
    CUT_APART, /* some hosts from all others */
    CUTS       /* any of them */
} cut_t;

/* By cut_t. */
extern const char *const cut_names[CUTS];

typedef struct network {
    uint32_t nhosts;
    pid_t keepers[HOSTS_MOST]; /* processes that keep the hosts */
    int fds[HOSTS_MOST];       /* their networks */
    char cut[100];             /* what is cut, in words */
    uint32_t hurt;             /* hosts that are cut off in some way, a bit each */
} network_t;

/* Returns NULL, or why this machine has no such network. */
const char *network_open(network_t *network, uint32_t nhosts);
/* The calling process goes to a host. */
bool network_enter(const network_t *network, uint32_t host);
/* Cuts it somewhere, as asked for. */
void network_cut(network_t *network, cut_t cut, unsigned *seed);
void network_heal(network_t *network);
void network_close(network_t *network);

#endif
