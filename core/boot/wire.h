/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers and frames of the control connections as bytes, big endian, so that hosts of both byte
 * orders can join. A frame is a header of 32 bytes and a payload whose size the receiver knows
 * beforehand. */
#ifndef WEFT_BOOT_WIRE_H
#define WEFT_BOOT_WIRE_H

#include <stdbool.h>

#include <weft/weft.h>

#include "core/base/signature.h"
#include "core/boot/missing.h"

/* Of all that processes say to each other over control connections: frames, join requests,
 * handshake, unique ids. Raise it with every change of them: unit/core/boot/wire_version finds that
 * they have changed.
 * 3: the acceptor acknowledges the proof. 4: who leaves says what it called last; a refusal
 * says the version; an id has the same version. 5: the root tells a rank its children. */
#define WEFT_WIRE_VERSION 5

static inline void weft_put_u16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void weft_put_u32(uint8_t *p, uint32_t v)
{
    weft_put_u16(p, v >> 16);
    weft_put_u16(p + 2, v & 0xffff);
}

static inline void weft_put_u64(uint8_t *p, uint64_t v)
{
    weft_put_u32(p, (uint32_t)(v >> 32));
    weft_put_u32(p + 4, (uint32_t)v);
}

static inline uint32_t weft_get_u16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t weft_get_u32(const uint8_t *p)
{
    return weft_get_u16(p) << 16 | weft_get_u16(p + 2);
}

static inline uint64_t weft_get_u64(const uint8_t *p)
{
    return (uint64_t)weft_get_u32(p) << 32 | weft_get_u32(p + 4);
}

/* X(value, NAME, bytes of the payload); UINT32_MAX: the step of the exchange says. */
/* clang-format off */
#define WEFT_FRAME_MAP(X)                                                                          \
    /* during the join */                                                                          \
    X(1, JOIN, WEFT_WIRE_JOIN_REQUEST)    /* rank to root: who I am and where I listen */          \
    X(2, WELCOME, WEFT_WIRE_JOIN_REQUEST) /* root to rank: your parent in the tree */              \
    X(3, READY, 0)                        /* rank to root: my connections of the tree stand; with  \
                                             `number` 1: I have joined and need you no more;       \
                                             2: they do not yet, and it is not for me */           \
    /* exchanges */                                                                                \
    X(4, GATHER, UINT32_MAX)              /* towards rank 0 */                                     \
    X(5, SPREAD, UINT32_MAX)              /* from rank 0 */                                        \
    /* the health channel; FAIL also before */                                                     \
    X(6, FAIL, WEFT_WIRE_ERROR)           /* communicator `number` failed; 0: the join did. On a   \
                                             claim with `sequence` 1: all others were told */      \
    X(7, BEAT, 0)                         /* the sender lives */                                   \
    X(8, LEAVE_FAMILY, 0)                 /* rank `from` left the family in order */               \
    X(9, ASK, WEFT_WIRE_SIGNATURE)        /* `from` waits for rank `sequence` in this operation    \
                                             of communicator `number` */                           \
    X(10, ANSWER, WEFT_WIRE_ANSWER)       /* to rank `sequence`, which asked in communicator       \
                                             `number`: where `from` is */                          \
    X(11, LEAVE_COMM, WEFT_WIRE_LEAVE)    /* `from` left communicator `number` after so many       \
                                             operations, the last of which were these */           \
    X(12, DEATH, WEFT_WIRE_ERROR)         /* a rank of the family is dead */                       \
    /* before the join, where a launcher's exchange carries the id */                              \
    X(13, CLAIM, WEFT_WIRE_JOIN_REQUEST)  /* rank to root: I hold the id and will join */          \
    X(14, CLAIMED, 0)                     /* root to rank: all have the id; from rank 0 first,     \
                                             which answers the same when its note is gone */      \
    /* the health channel */                                                                       \
    X(15, MISSING, WEFT_WIRE_ABSENCE)     /* as FAIL, because ranks did not come: with the list    \
                                             of them */                                            \
    X(16, WORD, WEFT_WIRE_WORD)           /* to rank `sequence`, in consensus `number` */          \
    /* exchanges */                                                                                \
    X(17, AGAIN, 0)                       /* first on a connection of the tree that is made again  \
                                             while ranks join: `from` has taken the other end's    \
                                             frames of the exchanges before number `sequence`;     \
                                             with `number` 1: of all, for it has joined */        \
    /* during the join */                                                                          \
    X(18, CHILD, WEFT_WIRE_JOIN_REQUEST)  /* root to rank: your child in the tree; comes before    \
                                             WELCOME */
/* clang-format on */

typedef enum weft_frame_type {
#define WEFT_FRAME_ENUM(value, name, bytes) WEFT_FRAME_##name = (value),
    WEFT_FRAME_MAP(WEFT_FRAME_ENUM)
#undef WEFT_FRAME_ENUM
} weft_frame_type_t;

/* `number` of READY. */
#define WEFT_READY_JOINED 1
#define WEFT_READY_WAITS 2

#define WEFT_WIRE_HEADER 32
#define WEFT_WIRE_JOIN_REQUEST 160
#define WEFT_WIRE_ERROR 648
#define WEFT_WIRE_SIGNATURE 24
#define WEFT_WIRE_ANSWER 40
#define WEFT_WIRE_LEAVE 40
#define WEFT_WIRE_MISSING (8 + WEFT_MISSING_SPAN / 8)
#define WEFT_WIRE_ABSENCE (WEFT_WIRE_ERROR + WEFT_WIRE_MISSING)
#define WEFT_WIRE_WORD (24 + WEFT_WIRE_MISSING)
#define WEFT_WIRE_MOST (WEFT_WIRE_HEADER + WEFT_WIRE_ERROR)      /* during the join */
#define WEFT_WIRE_LONGEST (WEFT_WIRE_HEADER + WEFT_WIRE_ABSENCE) /* of the health channel */

typedef struct weft_frame {
    uint32_t type;     /* weft_frame_type_t */
    uint32_t bytes;    /* of the payload */
    uint32_t from;     /* rank that made it */
    uint32_t sequence; /* number of the exchange, or the rank that it is for; else 0 */
    uint64_t comm_id;  /* of the family's first communicator */
    uint64_t number;   /* meaning depends on the type */
} weft_frame_t;

/* Both end a join. */
static inline bool weft_frame_is_failure(const weft_frame_t *frame)
{
    return frame->type == WEFT_FRAME_FAIL || frame->type == WEFT_FRAME_DEATH;
}

void weft_frame_encode(const weft_frame_t *frame, uint8_t header[WEFT_WIRE_HEADER]);
/* Checks every field that can be checked without context. ERR_PROTO with the bad field in *why, and
 * no error record: the caller knows the peer. The same for the other decoders. */
weft_status_t weft_frame_decode(const uint8_t header[WEFT_WIRE_HEADER], uint32_t nranks,
                                uint64_t comm_id, weft_frame_t *frame, const char **why);

void weft_error_encode(const weft_error_t *error, uint8_t bytes[WEFT_WIRE_ERROR]);
weft_status_t weft_error_decode(const uint8_t bytes[WEFT_WIRE_ERROR], uint32_t nranks,
                                weft_error_t *error, const char **why);

void weft_missing_encode(const weft_missing_t *missing, uint8_t bytes[WEFT_WIRE_MISSING]);
weft_status_t weft_missing_decode(const uint8_t bytes[WEFT_WIRE_MISSING], uint32_t nranks,
                                  weft_missing_t *missing, const char **why);

void weft_signature_encode(const weft_signature_t *signature, uint8_t bytes[WEFT_WIRE_SIGNATURE]);
weft_status_t weft_signature_decode(const uint8_t bytes[WEFT_WIRE_SIGNATURE],
                                    weft_signature_t *signature, const char **why);

/* What a rank says when it leaves a communicator. */
typedef struct weft_leave {
    uint64_t sequence;        /* operations that it took part in */
    weft_signature_run_t run; /* the last of them */
} weft_leave_t;

void weft_leave_encode(const weft_leave_t *leave, uint8_t bytes[WEFT_WIRE_LEAVE]);
weft_status_t weft_leave_decode(const uint8_t bytes[WEFT_WIRE_LEAVE], weft_leave_t *leave,
                                const char **why);

/* The answer of a rank that was asked for an operation that it has not begun: where it is. */
typedef struct weft_answer {
    uint64_t comm_id;           /* the communicator in which it waits; 0: none */
    weft_signature_t signature; /* of the operation there */
    uint32_t waits_for;         /* a rank of the family; UINT32_MAX: unknown */
} weft_answer_t;

void weft_answer_encode(const weft_answer_t *answer, uint8_t bytes[WEFT_WIRE_ANSWER]);
weft_status_t weft_answer_decode(const uint8_t bytes[WEFT_WIRE_ANSWER], weft_answer_t *answer,
                                 const char **why);

/* What voters of a consensus tell each other: core/comm/consensus.h. Numbers of ranks are
 * those of voters. */
typedef enum weft_word_kind {
    WEFT_WORD_CALL = 1, /* the leader asks for votes */
    WEFT_WORD_VOTE,     /* to the leader: a contribution, or the value that was taken */
    WEFT_WORD_PROPOSE,  /* the leader's value */
    WEFT_WORD_DECIDE,   /* the value, for good */
    WEFT_WORD_WAIT,     /* the leader still waits for those in `gone` */
} weft_word_kind_t;

typedef struct weft_consensus_value {
    uint64_t bits;
    weft_missing_t gone; /* ranks that take no part any more; count 0: none */
} weft_consensus_value_t;

typedef struct weft_word {
    uint32_t kind;   /* weft_word_kind_t */
    uint32_t ballot; /* the leader that it is from or for */
    uint32_t taken;  /* VOTE: whose proposal the value was; UINT32_MAX: nobody's */
    weft_consensus_value_t value;
} weft_word_t;

void weft_word_encode(const weft_word_t *word, uint8_t bytes[WEFT_WIRE_WORD]);
weft_status_t weft_word_decode(const uint8_t bytes[WEFT_WIRE_WORD], uint32_t nranks,
                               weft_word_t *word, const char **why);

#endif
