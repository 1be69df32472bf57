/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of collectives, operators and patterns on the command line of `weft perf`. */
#include "tools/perf_names.h"

#include <string.h>

#include "core/base/coll.h"
#include "tools/values.h"

/* What nccl-tests calls differently. */
typedef struct other_name {
    weft_coll_t coll;
    const char *name;
} other_name_t;

static const other_name_t others[] = {
    {WEFT_ALL_TO_ALL, "alltoall"},
    {WEFT_ALL_TO_ALL_V, "alltoallv"},
    {WEFT_SEND_RECV, "sendrecv"},
};
#define OTHERS (sizeof others / sizeof others[0])

/* Names of weft, then "all". */
static const char *perf_names_coll_name(weft_coll_t coll)
{
    return coll == WEFT_COLL_COUNT ? "all" : weft_coll_name(coll);
}

static const char *perf_names_other_name(weft_coll_t coll)
{
    for (size_t i = 0; i < OTHERS; i++) {
        if (others[i].coll == coll) {
            return others[i].name;
        }
    }
    return NULL;
}

static const char *const pattern_names[] = {
#define NAME(name, text, help) text,
    PERF_PATTERN_MAP(NAME)
#undef NAME
        NULL};

static const char *const pattern_helps[] = {
#define HELP(name, text, help) help,
    PERF_PATTERN_MAP(HELP)
#undef HELP
};

int perf_coll_parse(const char *text)
{
    for (size_t i = 0; i < OTHERS; i++) {
        if (strcmp(text, others[i].name) == 0) {
            return (int)others[i].coll;
        }
    }
    return tool_parse_coll(text, "all");
}

static bool perf_names_is_program(const char *name, const char *coll)
{
    size_t length = strlen(coll);
    return strncmp(name, coll, length) == 0 && strcmp(name + length, "_perf") == 0;
}

int perf_coll_of_program(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;
    for (size_t i = 0; i < OTHERS; i++) {
        if (perf_names_is_program(name, others[i].name)) {
            return (int)others[i].coll;
        }
    }
    for (int i = 0; i <= WEFT_COLL_COUNT; i++) {
        if (perf_names_is_program(name, perf_names_coll_name((weft_coll_t)i))) {
            return i;
        }
    }
    return -1;
}

void perf_program_name(weft_coll_t coll, char *text, size_t bytes)
{
    const char *other = perf_names_other_name(coll);
    snprintf(text, bytes, "%s_perf", other != NULL ? other : perf_names_coll_name(coll));
}

const char *perf_op_text(weft_coll_t coll, weft_op_t op)
{
    if (!weft_coll_reduces(coll)) {
        return "none";
    }
    return op == WEFT_OP_USER ? "user" : weft_op_name(op);
}

bool perf_pattern_parse(const char *text, perf_pattern_t *pattern)
{
    char name[32];
    int64_t seed = 0;
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    int kind = tool_parse_name("pattern", name, pattern_names);
    if (kind < 0 ||
        (colon != NULL && !tool_parse_integer("the seed", colon + 1, 0, INT32_MAX, &seed))) {
        return false;
    }
    *pattern = (perf_pattern_t){(perf_pattern_kind_t)kind, (uint64_t)seed};
    return true;
}

const char *perf_pattern_name(const perf_pattern_t *pattern)
{
    return pattern_names[pattern->kind];
}

void perf_names_print(FILE *out)
{
    fprintf(out, "Collectives, with the names of nccl-tests in brackets:\n");
    for (int c = 0; c < WEFT_COLL_COUNT; c++) {
        const char *other = perf_names_other_name((weft_coll_t)c);
        fprintf(out, "%s%s%s%s%s", c % 5 == 0 ? "  " : " ", perf_names_coll_name((weft_coll_t)c),
                other != NULL ? " [" : "", other != NULL ? other : "", other != NULL ? "]" : "");
        fputs(c % 5 == 4 ? "\n" : "", out);
    }
    fprintf(out, "  all: every one of them in turn, with a summary\n\n"
                 "Patterns of the vector collectives (--pattern NAME or NAME:SEED):\n");
    for (int i = 0; pattern_names[i] != NULL; i++) {
        fprintf(out, "  %-8s  %s\n", pattern_names[i], pattern_helps[i]);
    }
}
