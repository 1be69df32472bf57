/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of a job hold (core/comm/holdings.h), summed and the most of each, as text and
 * JSON. */
#ifndef WEFT_TOOLS_HOLDINGS_SUMMARY_H
#define WEFT_TOOLS_HOLDINGS_SUMMARY_H

#include <weft/weft.h>

#include "tools/json.h"

/* Numbers of each kind, and of the process. */
enum { HOLDINGS_BYTES, HOLDINGS_LIMIT, HOLDINGS_FDS, HOLDINGS_FDS_LIMIT, HOLDINGS_EACH };
enum { HOLDINGS_RESIDENT, HOLDINGS_SHARE, HOLDINGS_OPEN, HOLDINGS_PROCESS };
#define HOLDINGS_KINDS 12u
#define HOLDINGS_NUMBERS (HOLDINGS_EACH * HOLDINGS_KINDS + HOLDINGS_PROCESS)

/* Between take and print the caller reduces `sum` and `most` over the ranks. */
typedef struct holdings_summary {
    uint32_t nranks; /* 0: nothing was taken */
    double sum[HOLDINGS_NUMBERS];
    double most[HOLDINGS_NUMBERS];
} holdings_summary_t;

/* Takes what this rank holds, and what the system says of its process. */
weft_status_t holdings_summary_take(weft_comm_t *comm, uint32_t nranks, holdings_summary_t *held);

/* Prints a table, each line behind `prefix`. */
void holdings_summary_print(const holdings_summary_t *held, const char *prefix);
/* Writes it as the object `key`. */
void holdings_summary_json(const holdings_summary_t *held, json_t *json, const char *key);

#endif
