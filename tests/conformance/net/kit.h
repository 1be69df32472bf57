/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the cases of the net suite share: instances with a fake host, pairs of connections, posting
 * and waiting with deadlines. A case runs in a process of its own; the first failed requirement
 * ends it. */
#ifndef WEFT_TESTS_CONFORMANCE_NET_KIT_H
#define WEFT_TESTS_CONFORMANCE_NET_KIT_H

#include <weft/plugin/net.h>

#include "fake_host.h"
#include "kit_frame.h"

#define KIT_LABEL_SEED 7
#define KIT_CHECKED 3 /* cases of checked_cases */

typedef struct kit {
    const weft_plugin_t *plugin;
    const weft_net_ops_t *ops;
    const char *const *settings; /* key=value, ended by NULL */
    uint32_t messages;           /* how many the long cases send */
    uint64_t seed;               /* of what they draw */
    const char *path;            /* of the plugin */
    const weft_host_t *host;     /* for create(); NULL: the fake host of the side */
} kit_t;

/* One instance with one open device and a listener. */
typedef struct kit_side {
    const weft_net_ops_t *ops;
    fake_host_t fake;
    void *config;
    weft_net_t *net;
    weft_net_device_t *device;
    weft_net_listener_t *listener;
    weft_net_address_t address;
    weft_net_props_t props;
} kit_side_t;

/* A connection and the side it lives on. */
typedef struct kit_end {
    kit_side_t *side;
    weft_net_conn_t *conn;
} kit_end_t;

/* Context of a posted operation. */
typedef struct kit_done {
    bool done;
    weft_status_t status;
    uint64_t bytes;
    uint32_t kind;
    uint32_t order; /* completions of this thread are counted */
    void *given;    /* overwritten when the operation completes; NULL: nothing is */
    uint64_t given_bytes;
} kit_done_t;

/* What: ends the case when `held` is false. */
void kit_require(bool held, const char *text, const char *file, int line);
#define REQUIRE(condition) kit_require((condition), #condition, __FILE__, __LINE__)
/* What: ends the case as skipped, with the capability that is missing. */
void kit_skip(const char *missing);
/* What: puts a line of context below a later failure, e.g. the plugin's error text. */
void kit_note(const char *format, ...) WEFT_PRINTF(1, 2);

uint64_t kit_now_ns(void);
uint32_t kit_fd_count(void);
/* What: bytes that depend on `seed` and position. */
void kit_fill(uint8_t *bytes, uint64_t count, uint64_t seed);
bool kit_matches(const uint8_t *bytes, uint64_t count, uint64_t seed);
uint64_t kit_random(uint64_t *state);

/* What: opens everything or reports the first failure, with nothing left open. */
weft_status_t side_try_open(const kit_t *kit, kit_side_t *side, const char *const *settings);
void side_open(const kit_t *kit, kit_side_t *side);
/* What: closes it; nothing allocated may be left. */
void side_close(kit_side_t *side);

/* What: connects `from` to the listener of `to`; both are driven here. Returns: OK, or the
 * connector's failure, or ERR_TIMEOUT after 10 s. */
weft_status_t pair_try_connect(kit_side_t *from, kit_side_t *to, uint64_t map_bytes, kit_end_t *a,
                               kit_end_t *b);
void pair_connect(kit_side_t *from, kit_side_t *to, kit_end_t *a, kit_end_t *b);
void pair_close(kit_end_t *a, kit_end_t *b);

/* What: one end only, for cases between processes. */
weft_status_t end_connect(kit_side_t *side, const weft_net_address_t *address, uint64_t map_bytes,
                          kit_end_t *end);
void end_accept(kit_side_t *side, kit_end_t *end);
void end_close(kit_end_t *end);

/* What: posts one operation; AGAIN and progress are dealt with. */
void end_send(kit_end_t *end, const void *bytes, uint64_t count, kit_done_t *done);
/* What: as end_send(), and overwrites the bytes as soon as the send completes: whoever reads them
 * later sends others. */
void end_give(kit_end_t *end, void *bytes, uint64_t count, kit_done_t *done);
void end_receive(kit_end_t *end, void *bytes, uint64_t room, kit_done_t *done);
/* What: polls once, fills contexts. */
void side_pump(kit_side_t *side);
/* What: polls both (b may be NULL) until `done` is. */
void sides_wait(kit_side_t *a, kit_side_t *b, const kit_done_t *done);
/* What: as sides_wait(), for at most so long instead of 10 s. */
void sides_wait_long(kit_side_t *a, kit_side_t *b, const kit_done_t *done, uint32_t seconds);

/* What: opens one side here and runs `child` in another process with a side of its own, that was
 * told this side's address. Skips if `reachable` says that processes cannot meet. Returns the
 * child. */
typedef void (*kit_child_fn_t)(kit_side_t *side, const weft_net_address_t *address, void *arg);
int kit_spawn(const kit_t *kit, kit_side_t *side, kit_child_fn_t child, void *arg);
/* What: waits for the child and requires that its requirements held. */
void kit_reap(int child);

/* The cases. `needs`: WEFT_NET_CAP_*, all of them. */
typedef struct kit_case {
    const char *name;
    uint32_t needs;
    void (*run)(const kit_t *kit);
} kit_case_t;

extern const kit_case_t checked_cases[];
extern const kit_case_t connect_cases[];
extern const kit_case_t device_cases[];
extern const kit_case_t hostile_cases[];
extern const kit_case_t message_cases[];
extern const kit_case_t payload_cases[];
extern const kit_case_t failure_cases[];
extern const kit_case_t map_cases[];
extern const kit_case_t life_cases[];

#endif
