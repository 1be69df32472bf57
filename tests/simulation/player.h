/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the simulated ranks and the run say to each other, in memory that both see. */
#ifndef WEFT_SIMULATION_PLAYER_H
#define WEFT_SIMULATION_PLAYER_H

#include <stdbool.h>

#include <weft/weft.h>

enum { PLAYERS = 64, PLAYER_ERRORS = 16, PLAYER_SETTINGS = 16, PLAYER_AGREEMENTS = 256 };

typedef struct player_error {
    uint64_t at;
    weft_status_t status;
    int32_t pid; /* of the culprit; −1: none is named */
    char call[24], text[400];
} player_error_t;

/* What became of a rank. */
typedef struct player_record {
    uint32_t steps, errors, shrinks;
    uint64_t longest; /* of a call, ns */
    uint64_t joined;  /* when it last had joined, or failed to */
    char longest_call[24];
    player_error_t error[PLAYER_ERRORS]; /* the first ones */
    bool finished, gave_up;
    uint64_t revoked; /* when it first revoked a communicator; 0: never */
    /* Of its communicator when they met last; a bit for each seat, or, where the dead are
     * replaced, for each member. */
    uint64_t members;
    bool arena;      /* see mixed_calls.h */
    char wrong[400]; /* "": everything was right */
} player_record_t;

#define PLAYER_HALF_CALL "all_reduce in a half"

/* A newcomer is wanted for a seat. */
typedef struct player_wish {
    uint32_t count; /* wishes so far */
    weft_ticket_t ticket;
} player_wish_t;

typedef struct player_board {
    weft_unique_id_t id;
    bool ready;          /* the id is there */
    const char *at;      /* host:port of a fixed id; NULL: it is another */
    bool meets;          /* the ranks meet in a folder */
    uint32_t joins;      /* of each rank, one after the other, with a fixed id */
    uint32_t nranks;     /* the job begins with */
    uint32_t steps;      /* calls of each rank */
    uint32_t shrinks;    /* of each rank at most */
    uint64_t seed, most; /* most: elements of a call */
    const char *setting[PLAYER_SETTINGS];
    uint32_t nsettings;
    bool nobody_dies;
    bool revokes;                       /* now and then, before a call */
    bool agrees;                        /* after each call on how it went, before they go on */
    bool excludes;                      /* a shrink may leave out a rank that lives */
    bool keeps;                         /* halves outlive failures of the whole */
    bool watches;                       /* the descriptor that tells of a failure */
    uint64_t agreed[PLAYER_AGREEMENTS]; /* the outcomes; 0: none yet */
    bool replaces;                      /* the dead are replaced: see tests/support/survivor.h */
    bool parts;                         /* replaced ranks may live on the other side of a cut */
    uint64_t pause;                     /* ns before each step */
    uint64_t leavers;                   /* a bit for each seat that leaves before the others, */
    uint32_t leave_at;                  /* when it has made so many steps, */
    uint64_t leave_pause;               /* ns later: the others may miss each other by then */
    player_wish_t wish[PLAYERS];        /* by seat */
    player_record_t record[PLAYERS];    /* by member */
} player_board_t;

typedef struct player_task {
    player_board_t *board;
    uint32_t seat;   /* its number in the job */
    uint32_t member; /* each process has one of its own */
    bool newcomer;
    weft_ticket_t ticket; /* of a newcomer */
} player_task_t;

/* The image's function: `task` is a player_task_t. Returns the exit code. */
typedef void *player_main_t(void *task);

#endif
