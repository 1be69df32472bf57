/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rules of the option `rule`: which algorithm serves which calls, whatever the model says. */
#ifndef TUNER_RULES_H
#define TUNER_RULES_H

#include <stdbool.h>

#include <weft/plugin/host.h>
#include <weft/plugin/tuner.h>

#include "spec.h"

#define RULES_ANY UINT32_MAX

/* Both ends belong to it. */
typedef struct rules_range {
    uint64_t first, last;
} rules_range_t;

/* One rule. Slices, channels and protocol that are 0 are left to the model. */
typedef struct rules_rule {
    const char *text;    /* "weft.ini:12: all_reduce …", of rules_t */
    uint32_t coll;       /* or RULES_ANY */
    uint32_t memory;     /* WEFT_TUNER_MEMORY_*, or RULES_ANY */
    uint32_t dtype;      /* or RULES_ANY */
    rules_range_t bytes; /* of one block, that is of one rank */
    rules_range_t ranks, hosts;
    tuner_spec_t wanted;
    char origin[160]; /* "weft.ini:12: [tuner] rule" */
    uint32_t slices, channels;
    uint32_t protocol; /* WEFT_TUNER_PROTOCOL_* */
    uint64_t slice_bytes;
    bool force; /* an error where the algorithm does not serve the call */
} rules_rule_t;

typedef struct rules {
    rules_rule_t *list;
    char *text; /* of all rules */
    uint32_t count;
} rules_t;

/* Reads a list of rules (WEFT_OPTION_LIST). ERR_CONFIG names file, line, the wrong word and the
 * nearest right one. rules_destroy() in any case. */
weft_status_t rules_parse(const weft_host_t *host, const char *text, rules_t *rules);
void rules_destroy(const weft_host_t *host, rules_t *rules);

/* ERR_CONFIG if a rule names an algorithm that is not among those. */
weft_status_t rules_check(const weft_host_t *host, const rules_t *rules, const char *const *algos,
                          uint32_t count);

/* Returns whether a rule about such calls is for this one: its algorithm serves it as the rule
 * says, or is forced. */
typedef bool (*rules_holds_fn_t)(const void *arg, const rules_rule_t *rule);

/* Finds the rules for a call that hold. Returns 1 and found[0] for the first of them; 2 where the
 * call lies in a gap, with the nearest rule below it and the nearest above; 0: none. */
uint32_t rules_find(const rules_t *rules, const weft_tuner_call_t *call, rules_holds_fn_t holds,
                    const void *arg, const rules_rule_t *found[2]);

/* Returns "ll128" for WEFT_TUNER_PROTOCOL_LL128, and so on; "" for BEST. */
const char *rules_protocol_text(uint32_t protocol);

/* True if a candidate has the rule's algorithm and parameters. */
bool rules_is_offered(const rules_rule_t *rule, const weft_tuner_candidate_t *candidates,
                      uint32_t count);

#endif
