/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank of a job whose ranks die and are replaced: it shrinks, takes in a newcomer under the
 * number of each dead one, and goes on at the step of the slowest. */
#ifndef WEFT_TEST_SURVIVOR_H
#define WEFT_TEST_SURVIVOR_H

#include <stdbool.h>

#include <weft/weft.h>

enum { SURVIVOR_MOST = 16 }; /* ranks of a job */

/* The step of a newcomer, which asks the others. */
#define SURVIVOR_NO_STEP UINT32_MAX

typedef struct survivor {
    weft_comm_t *comm;
    uint32_t seat, size;     /* its number, and how many ranks the whole job has */
    uint32_t step;           /* the next one */
    uint32_t failed_growths; /* as rank 0 of those that were here */
    void *arg;               /* of the functions */
    /* What should not happen did; does not return. */
    void (*give_up)(void *arg, const char *what);
    /* A newcomer for that seat has to be started; it joins with the ticket. */
    void (*want)(void *arg, uint32_t seat, const weft_ticket_t *ticket);
    /* The communicator has failed and is about to be shrunk; NULL: nothing is to be done. */
    void (*fails)(void *arg);
    /* A call of survivor_recover() has ended; NULL: nobody asks. */
    void (*ended)(void *arg, const char *call, weft_status_t status);
} survivor_t;

/* Whether its communicator has failed. */
bool survivor_has_failed(const survivor_t *s);
/* In a new communicator of all: finds where the slowest of the old ones is. */
weft_status_t survivor_meet(survivor_t *s);
/* Destroys the communicator and takes that one, or NULL. */
void survivor_take(survivor_t *s, weft_comm_t *by);
/* After a failure: returns when the job is whole again. */
void survivor_recover(survivor_t *s);

#endif
