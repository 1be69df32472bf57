/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What would be chosen for a call, and why: for tools. */
#ifndef WEFT_COMM_WHY_H
#define WEFT_COMM_WHY_H

#include "core/comm/select.h"

/* What a communicator chooses by, by level where figures have one. */
typedef struct weft_comm_figures {
    uint32_t nranks, nhosts, channels;
    uint32_t crowd; /* ranks of the fullest host */
    double cores;   /* of a host */
    weft_cost_model_t model;
    char net[WEFT_LEVELS][64];  /* transport to `peer`, or "" */
    const char *path;           /* between the devices of both, inside a host: "bus"; or NULL */
    uint32_t peer[WEFT_LEVELS]; /* a rank at that level from this one; this rank: there is none */
    char kernel[64];
} weft_comm_figures_t;

/* Chooses for a call, as weft_select_choose(). args->count is that of one block. A message
 * (send_recv with root as peer) has the algorithm "message" and one slice size. ERR_ARG, ERR_STATE
 * as weft_comm_enter(); ERR_UNSUPPORTED for one rank. */
weft_status_t weft_comm_why(weft_comm_t *comm, const weft_args_t *args,
                            weft_select_choice_t *chosen);

/* Tells the figures that the communicator chooses by. */
weft_status_t weft_comm_figures(weft_comm_t *comm, weft_comm_figures_t *figures);

/* Measures the kernel of this rank for some milliseconds: seconds per byte by data type, in the
 * unit of the cost model's γ; 0 where it has no sum. ERR_UNSUPPORTED: it computes on a device. */
weft_status_t weft_comm_measure_kernel(weft_comm_t *comm, double gamma[WEFT_FIGURES_RATES]);

/* Lists the loaded algorithms, at most WEFT_ALGOS_MAX; the names live as long as the family. */
weft_status_t weft_comm_algos(weft_comm_t *comm, const char **names, uint32_t *count_p);

#endif
