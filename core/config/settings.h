/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of the core: sections [core], [boot], [exec], [plan] and [figures]. Times are in
 * seconds. */
#ifndef WEFT_CONFIG_SETTINGS_H
#define WEFT_CONFIG_SETTINGS_H

#include <stdbool.h>

#include <weft/sdk/endpoint.h>

#include "core/config/config.h"

typedef struct weft_core_settings {
    const char *plugin_dir; /* absolute folders of the .so files, "a:b"; "" = beside the library */
    const char *net;        /* plugins to load, in order of preference, separated by blanks */
    const char *algo;
    const char *kernel;
    const char *tuner;
    const char *topo;
    const char *machine; /* file that describes this machine; "" = none */
    const char *rings;   /* graph files; "" = search */
    const char *trees;
    const char *rails;    /* NAME:RAIL …; "" = not known */
    const char *topology; /* file with the levels above the hosts; "" = none */
    const char *flight;   /* folder of the flight records; "" = in memory */
    int64_t log;          /* weft_log_level_t */
    bool log_time;        /* lines of the log begin with the time of day */
    bool check;           /* plugins are held to their headers */
} weft_core_settings_t;

#define WEFT_EXCHANGE_AUTO 0

typedef enum weft_quorum { WEFT_QUORUM_NONE = 0, WEFT_QUORUM_MAJORITY = 1 } weft_quorum_t;

typedef struct weft_boot_settings {
    double init_timeout;     /* until all ranks have joined */
    double connect_timeout;  /* for one data connection */
    double heartbeat;        /* between two looks at who was asked for a sign of life */
    double late;             /* waiting before a late rank is reported */
    double unresponsive;     /* without an answer before a rank counts as lost; 0: never */
    const char *interface;   /* interfaces for control traffic: "eth,ib", "^docker", "=eth0" */
    const char *port_range;  /* of listeners for control traffic; "": any port */
    weft_port_range_t ports; /* the same as numbers */
    /* Folder in which the ranks of a launcher exchange the unique id; "": a private folder of this
     * user on this host. */
    const char *rendezvous;
    const char *label; /* of the user's: the ranks compare it, as every option, when they join */
    int64_t exchange;  /* how the unique id reaches the ranks of a launcher */
    int64_t quorum;    /* of ranks that must be left to go on: weft_quorum_t */
} weft_boot_settings_t;

typedef struct weft_exec_settings {
    double op_timeout;       /* for one operation; 0: none */
    int64_t wait;            /* 0 auto, 1 spin, 2 yield, 3 sleep */
    double spin;             /* busy waiting before yielding where ranks outnumber cores */
    uint64_t slot_bytes;     /* slot size; 0 = what the transports ask for */
    int64_t slots;           /* FIFO depth; 0 = what the transports ask for */
    uint64_t pool_bytes;     /* of slots of mapped links, per communicator; 0 = no limit */
    int64_t gpudirect;       /* weft_gpudirect_mode_t */
    uint64_t program_memory; /* bytes of prepared programs per communicator */
    uint64_t fuse_bytes;     /* of a call of a group that is fused with others; 0: weft chooses */
} weft_exec_settings_t;

#define WEFT_CHANNEL_BYTES (64u << 10) /* least part of a message that is worth a channel */
#define WEFT_CHANNEL_BYTES_DEVICE (16u << 10)
#define WEFT_CHANNELS_MAX 128

typedef struct weft_plan_settings {
    const char *algo;      /* force this algorithm; "" = the tuner chooses */
    int64_t verify;        /* 0 off, 1 first use of each shape */
    uint64_t verify_limit; /* abstract steps that one verification may cost */
    bool deterministic; /* the same bits whatever the size, the chunking, and who shares a host */
    int64_t channels;   /* that share one message; 0 = what the kernels ask for */
    uint64_t channel_bytes; /* least part of a message that is worth a channel; 0: weft chooses */
} weft_plan_settings_t;

typedef struct weft_figures_settings {
    const char *edge;   /* list of measured edges: core/comm/figures.h */
    const char *kernel; /* list of measured kernels */
    double turn;        /* of a rank that waits for a core, where ranks outnumber cores */
    double slice;       /* of both ends of a slice there */
    double cores;       /* that the ranks of a host have together; 0: what the system says */
    uint64_t cache;     /* bytes that the caches of a host hold; 0: not known */
} weft_figures_settings_t;

typedef struct weft_settings {
    weft_core_settings_t core;
    weft_boot_settings_t boot;
    weft_exec_settings_t exec;
    weft_plan_settings_t plan;
    weft_figures_settings_t figures;
} weft_settings_t;

extern const weft_option_t weft_core_options[];
extern const weft_option_t weft_boot_options[];
extern const weft_option_t weft_exec_options[];
extern const weft_option_t weft_plan_options[];
extern const weft_option_t weft_figures_options[];

/* True for the names of these sections, which no plugin may have. */
bool weft_settings_own(const char *section);

/* Claims the sections and fills `settings`. ERR_CONFIG, ERR_RESOURCE. */
weft_status_t weft_settings_read(weft_config_t *config, weft_settings_t *settings);

#endif
