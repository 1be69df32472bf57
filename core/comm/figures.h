/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measured figures of section [figures], which take the place of what transports and kernels say of
 * themselves:
 *
 *   edge = net-shm inside latency=312ns overhead=120ns bandwidth=7.9GB/s
 *   edge = net-socket between latency=14us overhead=3us bandwidth=1.1GB/s wire=2.3GB/s
 *   edge = net-shm inside turn=1.2us slice=170ns work=25GB/s
 *   edge = kernel-cuda direct latency=3us overhead=2us bandwidth=25GB/s wire=200GB/s
 *   edge = kernel-cuda direct ll latency=1us overhead=600ns bandwidth=12GB/s
 *   kernel = kernel-cpu float=11.2GB/s half=3.1GB/s copy=14GB/s memory=6GB/s launch=5us */
#ifndef WEFT_COMM_FIGURES_H
#define WEFT_COMM_FIGURES_H

#include <weft/plugin/kernel.h>

#include "core/config/config.h"
#include "core/plan/cost.h"
#include "core/plugin/registry.h"

#define WEFT_FIGURES_EDGES 32 /* lines of `edge` */
#define WEFT_FIGURES_NAME 49

/* What a line says; 0: nothing. */
typedef struct weft_figures_edge {
    char net[WEFT_FIGURES_NAME]; /* transport, or kernel */
    weft_level_t level;
    weft_kernel_path_t path; /* of a kernel's devices; WEFT_KERNEL_PATH_COUNT: of a transport */
    weft_kernel_protocol_t protocol; /* between devices */
    weft_cost_edge_t edge;
    weft_cost_busy_t busy;
    double wire; /* seconds per byte of all ranks of a host, or channels of a device, together */
} weft_figures_edge_t;

#define WEFT_FIGURES_COPY WEFT_DTYPE_COUNT         /* index of the rate of copies */
#define WEFT_FIGURES_MEMORY (WEFT_DTYPE_COUNT + 1) /* … of what does not stay in caches */
#define WEFT_FIGURES_RATES (WEFT_DTYPE_COUNT + 2)

/* Seconds per byte that a kernel combines, by data type, or copies; 0: not said. */
typedef struct weft_figures_kernel {
    char kernel[WEFT_FIGURES_NAME];
    double gamma[WEFT_FIGURES_RATES];
    double launch; /* seconds of a launch */
} weft_figures_kernel_t;

typedef struct weft_figures {
    weft_figures_edge_t edges[WEFT_FIGURES_EDGES];
    uint32_t nedges;
    weft_figures_kernel_t kernel; /* of the kernel that was asked for */
} weft_figures_t;

/* Who knows the names of transports and kernels. */
typedef struct weft_figures_names {
    const weft_registry_t *registry;
    const weft_config_t *config;
} weft_figures_names_t;

/* Reads both lists (WEFT_OPTION_LIST). Lines of other kernels than `kernel` are checked and left
 * out. ERR_CONFIG with file, line and the wrong word, which may be a name that is one letter away
 * from that of a plugin; `names` NULL: any name will do. */
weft_status_t weft_figures_read(const char *edges, const char *kernels, const char *kernel,
                                const weft_figures_names_t *names, weft_figures_t *figures);

/* Returns the line of the transport at the level, or NULL. */
const weft_figures_edge_t *weft_figures_find(const weft_figures_t *figures, const char *net,
                                             weft_level_t level);
/* Returns the line of the kernel for a path between its devices, or NULL. */
const weft_figures_edge_t *weft_figures_find_path(const weft_figures_t *figures, const char *kernel,
                                                  weft_kernel_path_t path,
                                                  weft_kernel_protocol_t protocol);
/* Returns the word of a path: "same", "direct", "bus", "host". */
const char *weft_figures_path_name(weft_kernel_path_t path);

/* Returns "simple", "ll", "ll128" or "whole". */
const char *weft_figures_protocol_name(weft_kernel_protocol_t protocol);

#endif
