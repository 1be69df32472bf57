/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The words of the fault matrix: faults, transports, moments, and what a cell is. */
#ifndef TESTS_MATRIX_H
#define TESTS_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#define MATRIX_RANKS 4u
/* Most bytes of a text that a rank or the judge leaves. */
#define MATRIX_WORDS 400u

/* X(CONSTANT, name) in the order of the table. */
#define MATRIX_FAULTS(X)                                                                           \
    X(KILLED, "killed")                                                                            \
    X(STOPPED, "stopped")                                                                          \
    X(RESUMED, "stopped and resumed")                                                              \
    X(HOST_GONE, "host gone")                                                                      \
    X(PARTITION, "partition")                                                                      \
    X(ONE_WAY, "one-way loss")                                                                     \
    X(RESET, "connections reset")                                                                  \
    X(FLAP, "link flaps")                                                                          \
    X(CABLE, "cable pulled")                                                                       \
    X(COMPLETION, "completion error")                                                              \
    X(FULL_SHM, "/dev/shm full")                                                                   \
    X(FULL_DISK, "disk full")                                                                      \
    X(DESCRIPTORS, "no descriptors left")                                                          \
    X(MEMORY, "no memory left")                                                                    \
    X(CLOCK, "clock jumps")                                                                        \
    X(SIGNALS, "storm of signals")                                                                 \
    X(FORK, "fork")                                                                                \
    X(STRANGERS, "strangers")                                                                      \
    X(REPLAY, "replayed handshakes")                                                               \
    X(SLOW, "slow reader")                                                                         \
    X(DUPLICATE, "duplicated rank")                                                                \
    X(VERSION, "wrong version")                                                                    \
    X(MIXED, "mixed configurations")                                                               \
    X(PLUGIN, "bad plugin")

#define MATRIX_TRANSPORTS(X)                                                                       \
    X(SHM, "shm")                                                                                  \
    X(TCP, "tcp")                                                                                  \
    X(FAKE, "ib-fake")                                                                             \
    X(RXE, "ib-rxe")

#define MATRIX_MOMENTS(X)                                                                          \
    X(JOIN, "join")                                                                                \
    X(FIRST, "first call")                                                                         \
    X(MIDDLE, "middle")                                                                            \
    X(SPLIT, "split")                                                                              \
    X(SHRINK, "shrink")                                                                            \
    X(LEAVE, "leave")

#define MATRIX_CONSTANT(constant, name) constant,
typedef enum fault { MATRIX_FAULTS(MATRIX_CONSTANT) FAULTS } fault_t;
typedef enum transport { MATRIX_TRANSPORTS(MATRIX_CONSTANT) TRANSPORTS } transport_t;
typedef enum moment { MATRIX_MOMENTS(MATRIX_CONSTANT) MOMENTS } moment_t;
#undef MATRIX_CONSTANT

/* All names, by number. */
extern const char *const matrix_faults[], *const matrix_transports[], *const matrix_moments[];

const char *fault_name(fault_t fault);
const char *transport_name(transport_t transport);
const char *moment_name(moment_t moment);

/* What the cell promises. */
typedef enum promise {
    GOES_ON,   /* every call of every rank is right */
    NAMED,     /* survivors get an error that names the victim, and go on without it */
    ALL_NAMED, /* the same, and the victim goes on with them */
    EITHER,    /* GOES_ON or ALL_NAMED: whether the rank needs what it lacks is not said */
    SIDES,     /* NAMED on both sides of a cut, of which the one with the quorum goes on */
    ONE_SIDE,  /* errors that name a rank, and those that go on do it together */
    REFUSED    /* the join fails on every rank with the cause */
} promise_t;

/* A cell is run by this program, proved by another test, or empty for a reason. */
typedef struct cell {
    fault_t fault;
    transport_t transport;
    moment_t moment;
    const char *test;  /* NULL, or name in ctest's list */
    const char *none;  /* NULL, or why there is nothing to run */
    bool quick;        /* one of those in ctest */
    promise_t promise; /* of a cell that is run here, as are those below */
    double bar; /* most seconds from the fault to the first error of the slowest, or of a call */
    uint32_t statuses; /* bits of the errors that are right: 1 << -status */
} cell_t;

/* Fills in the cell. Every combination has one. */
void cell_find(fault_t fault, transport_t transport, moment_t moment, cell_t *cell);

#endif
