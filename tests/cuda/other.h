/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Another process, which opens memory of the test's by its handle, as ranks that are processes
 * do. */
#ifndef TESTS_CUDA_OTHER_H
#define TESTS_CUDA_OTHER_H

#include <weft/plugin/draft/ipc.h>

#include "tests/cuda/bench.h"

/* Instances of the other process: two of device 0, one of device 1. */
enum { OTHER_FIRST = 1, OTHER_SECOND = 2, OTHER_APART = 4, OTHER_INSTANCES = 3 };

typedef struct other_ask {
    uint8_t token[WEFT_IPC_HANDLE_BYTES];
    uint64_t bytes;
    uint32_t who;   /* OTHER_*: which of its instances open the memory, all at once */
    uint32_t times; /* each */
    bool fabric, no_peers;
    bool busy;      /* a kernel waits in that process meanwhile */
    char fails[48]; /* call of the driver that fails once, or "" */
} other_ask_t;

/* What came of it. The first instance reads three bytes and fills the memory; then the others read
 * one byte of that, and each time after an instance has closed it, who still has it reads one. */
typedef struct other_told {
    weft_status_t opened; /* of the last that was tried */
    uint8_t first, middle, last;
    bool same;           /* all saw what the first wrote, as long as they had it */
    bool granted;        /* each one's device had access */
    int reserved;        /* mappings afterwards … */
    int imported, pools; /* … imports, and pools that were not there before */
    char words[512];     /* of the error */
} other_told_t;

/* Before either process uses the runtime; false: it cannot start. */
bool other_start(void);
other_told_t other_asked(const other_ask_t *ask);
/* True: it ended well, and with nothing open. */
bool other_end(void);

/* Memory of a device, by copies and kernels of the runtime. */
void other_fill(void *at, int value, uint64_t bytes);
uint8_t other_byte_at(const void *at);

#endif
