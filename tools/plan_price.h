/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan costs, for `weft plan` and `weft sim`: the parameters of the model and where they
 * come from, times for message sizes, and figures that need no run. */
#ifndef WEFT_TOOLS_PLAN_PRICE_H
#define WEFT_TOOLS_PLAN_PRICE_H

#include "tools/plan_path.h"
#include "tools/plan_source.h"

/* As given on the command line; negative: not given. */
typedef struct price_request {
    double alpha, beta, gamma, overhead;
    uint64_t slot_bytes;  /* 0: not given */
    uint64_t first, last; /* sizes */
    double factor;
    weft_kernel_path_t path; /* between devices; WEFT_KERNEL_PATH_COUNT: ranks have none */
    bool windows;
} price_request_t;

typedef struct price_model {
    weft_cost_edge_t edge; /* of transports: of any edge, or of those past a path of devices */
    double gamma;
    uint64_t slot_bytes; /* largest slice */
    uint32_t slots;      /* of a port */
    bool by_figures;     /* a line of [figures] took the place of what a plugin says */
    char origin[160];
    plan_path_t path;
} price_model_t;

/* Whose prices are asked for. */
typedef struct price_plan {
    const weft_cost_t *cost;
    weft_coll_t coll;
    uint32_t nranks, nhosts, k, slots;
    bool meets; /* its ranks can meet before a run */
} price_plan_t;

/* How a message is best cut, and the time of that. */
typedef struct price_time {
    double seconds;
    uint32_t slices;
    uint64_t slice_bytes;
    uint32_t channels;
    const char *travel; /* between devices: "header", or a protocol */
} price_time_t;

/* Sums over one pass. */
typedef struct price_facts {
    uint64_t links;               /* pairs of ranks with a queue from one to the other */
    uint64_t chunks, chunks_most; /* sent over all links, over the busiest */
    uint64_t messages;            /* that carry a slice of them */
    uint64_t touched;             /* read and written in memory, by all ranks */
    uint32_t from, to;            /* of the busiest link */
    uint64_t words, words_most;   /* of 8 bytes, that the plans of all ranks, of one, take */
    uint64_t moves_most;          /* executed by one */
    uint32_t ports_most, lanes_most, tmp_most, k;
    uint32_t packed; /* chunks in a message, at most */
} price_facts_t;

#define PRICE_REQUEST_DEFAULT                                                                      \
    {                                                                                              \
        .alpha = -1, .beta = -1, .gamma = -1, .overhead = -1, .first = 8,                          \
        .last = UINT64_C(1) << 30, .factor = 8, .path = WEFT_KERNEL_PATH_COUNT                     \
    }

/* Rows of a table of options: what price_option_take() reads. */
#define PRICE_OPTIONS                                                                              \
    {'b', "minbytes", "SIZE", "smallest size priced [8]", 'b'},                                    \
        {'e', "maxbytes", "SIZE", "largest size priced [1G]", 'e'},                                \
        {'f', "factor", "X", "from one size to the next [8]", 'f'},                                \
        {0, "alpha", "TIME", "of one message, such as 1.5us [the transport's]", 'x'},              \
        {0, "overhead", "TIME",                                                                    \
         "of each further message that follows at once [a quarter of alpha]", 'o'},                \
        {0, "beta", "RATE", "of a link, such as 12GB/s [the transport's]", 'y'},                   \
        {0, "gamma", "RATE", "at which data is combined, such as 8GB/s [the kernel's]", 'z'},      \
        {0, "path", "PATH",                                                                        \
         "between the devices of a host: same, direct, bus or host [ranks have none]", 'P'},       \
        {0, "windows", NULL, "with --path: buffers lie in windows", 'w'},                          \
    {                                                                                              \
        0, "slot-bytes", "SIZE", "largest slice [the transport's]", 'B'                            \
    }

/* Takes one of PRICE_OPTIONS. False and one line on stderr if it cannot. */
bool price_option_take(price_request_t *price, int id, const char *text);

/* Whether the sizes can be priced; TOOL_USAGE and one line on stderr if not. */
int price_request_check(const price_request_t *price);

/* "1.5us", "300ns", "2e-6": seconds. */
bool price_parse_seconds(const char *what, const char *text, double *value_p);
/* "12GB/s" or seconds per byte. */
bool price_parse_rate(const char *what, const char *text, double *value_p);

/* What was not asked for comes from [figures] or the loaded transports and kernels, as a
 * communicator on `nhosts` hosts would take it, else from constants. ERR_CONFIG: nobody tells what
 * --path costs, or [figures] are wrong. */
weft_status_t price_model_make(const price_request_t *request, const tool_session_t *session,
                               uint32_t nhosts, price_model_t *model);

/* Slots that the algorithm needs for each slice of a chunk, at least 1. */
uint32_t price_depth(const weft_loaded_t *loaded);

/* `size` is the larger of the two buffers of a rank, as nccl-tests counts it. */
price_time_t price_time(const price_plan_t *plan, const price_model_t *model, uint64_t size);
uint64_t price_block(weft_coll_t coll, uint32_t nranks, uint64_t size);
/* Returns the model for weft_cost_time(). */
weft_cost_model_t price_model_figures(const price_model_t *model);

/* Bus bandwidth over algorithm bandwidth. */
double price_bus_factor(weft_coll_t coll, uint32_t nranks);

/* First size of a request, and the next; false past the last. */
bool price_next_size(const price_request_t *request, uint64_t *size_p);

weft_status_t price_facts(weft_plan_t *const *plans, uint32_t nranks, price_facts_t *facts);

/* "8 B", "64 KiB"; "1.23 us". What all ranks send together may be more than 64 bits can count. */
const char *price_size_text(uint64_t size, char text[24]);
const char *price_bytes_text(double bytes, char text[24]);
const char *price_time_text(double seconds, char text[24]);

#endif
