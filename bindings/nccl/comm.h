/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NCCL's handle of a communicator. A handle exists before its communicator does: in a group, and
 * where the caller does not want to wait. */
#ifndef BINDINGS_NCCL_COMM_H
#define BINDINGS_NCCL_COMM_H

#include <pthread.h>
#include <stdatomic.h>

#include <weft/weft.h>

#include "bindings/nccl/errors.h"
#include "bindings/nccl/retired.h"
#include "bindings/nccl/types.h"

struct nccl_factor; /* factors.h */

struct ncclComm {
    /* ncclResult_t of making it or of a split of it; InProgress while that lasts. With release by
     * the job, and with it what the job wrote. */
    _Atomic int state;
    _Atomic(weft_comm_t *) weft; /* NULL until it is made */
    int nranks, rank, device;
    uint32_t channels;           /* maxCTAs of its config; 0: none */
    bool blocking;               /* else making others of it does not wait */
    _Atomic bool awaited;        /* a call waits until it is made */
    bool streams;                /* calls go into them; else they return when they are complete */
    int cancel;                  /* an eventfd that ends its joining, by ncclCommAbort; 0: none */
    _Atomic bool finalized;      /* by ncclCommFinalize */
    _Atomic bool revoked;        /* by ncclCommRevoke */
    nccl_retired_t retired;      /* registrations that are to end */
    char text[NCCL_ERROR_BYTES]; /* of the failure in `state` */
    pthread_mutex_t lock;        /* guards what follows, and the making of `weft` */
    ncclComm_t maker; /* it is made by an operation of this one, which its job holds; or NULL */
    /* Of ncclRedOpCreatePreMulSum. */
    struct nccl_factor *factors;
    uint32_t nfactors;
};

/* A handle in progress, which the program and a job that makes it hold. NULL: no memory, which is
 * recorded. */
ncclComm_t nccl_comm_create(const char *call, int nranks, int rank, int device);
/* The same for a job that makes it of ranks of the parent. It has the config that was checked, or
 * with NULL the parent's. */
ncclComm_t nccl_comm_create_child(const char *call, ncclComm_t parent, const ncclConfig_t *config);
/* Lets nccl_comm_abort() end its joining. */
void nccl_comm_let_cancel(ncclComm_t comm);
/* Notes whose operation makes it. NULL: none any longer. */
void nccl_comm_set_maker(ncclComm_t comm, ncclComm_t maker);
/* Gives the handle what was made for it. */
void nccl_comm_adopt(ncclComm_t comm, weft_comm_t *made);
/* Fails the communicator at once. One in the making is given up: its joining is cancelled, or the
 * communicator whose operation makes it fails. */
void nccl_comm_abort(ncclComm_t comm);
/* The same for one whose handle was given back, while another thread is inside a call of it or
 * waits for its end. False: it has ended, or is none. */
bool nccl_comm_abort_closed(ncclComm_t comm);
/* Makes a communicator of the same ranks in the same order, also if it has failed; all call it. */
weft_status_t nccl_comm_repeat(ncclComm_t comm, weft_comm_t **made_p);
/* Lets go. Returns what freeing the communicator returned, if nobody else held it. */
weft_status_t nccl_comm_release(ncclComm_t comm);
/* Gives back the program's handle, which is no communicator from now on; the caller holds it.
 * ncclInvalidArgument: it was given back meanwhile. */
ncclResult_t nccl_comm_close(const char *call, ncclComm_t comm);
/* Tells the end of a job. */
void nccl_comm_settle(ncclComm_t comm, ncclResult_t result, const char *text);

/* Whether it is a handle: ncclInvalidArgument for NULL, others and those given back. On success the
 * caller holds it. */
ncclResult_t nccl_comm_check(const char *call, ncclComm_t comm);
/* The same, and whether it is made and in no making of others. */
ncclResult_t nccl_comm_enter(const char *call, ncclComm_t comm);
/* Whether other communicators may still be made of it: not once it is finalized. */
ncclResult_t nccl_comm_check_open(const char *call, ncclComm_t comm);
/* Whether operations may still be called on it: nor once it is revoked. */
ncclResult_t nccl_comm_check_usable(const char *call, ncclComm_t comm);

#endif
