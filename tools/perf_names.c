/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of collectives, operators and patterns on the command line of `weft perf`. */
#include <string.h>

#include "tools/perf.h"

/* What nccl-tests calls differently. */
typedef struct other_name {
    weft_coll_t coll;
    const char *name;
    const char *program;
} other_name_t;

static const other_name_t others[] = {
    {WEFT_ALL_TO_ALL, "alltoall", "alltoall_perf"},
    {WEFT_ALL_TO_ALL_V, "alltoallv", "alltoallv_perf"},
    {WEFT_SEND_RECV, "sendrecv", "sendrecv_perf"},
};
#define OTHERS (sizeof others / sizeof others[0])

/* WEFT_COLL_COUNT: all. */
static const char *const coll_names[] = {
#define NAME(value, name, text, reduces, rooted, shape) [value] = text,
    WEFT_COLL_MAP(NAME)
#undef NAME
        [WEFT_COLL_COUNT] = "all",
    NULL};

static const char *const programs[] = {
#define PROGRAM(value, name, text, reduces, rooted, shape) [value] = text "_perf",
    WEFT_COLL_MAP(PROGRAM)
#undef PROGRAM
        [WEFT_COLL_COUNT] = "all_perf",
};

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

bool perf_coll_reduces(weft_coll_t coll)
{
#define REDUCES(value, name, text, reduces, rooted, shape) [value] = (reduces) != 0,
    static const bool table[] = {WEFT_COLL_MAP(REDUCES)};
#undef REDUCES
    return table[coll];
}

bool perf_coll_rooted(weft_coll_t coll)
{
#define ROOTED(value, name, text, reduces, rooted, shape) [value] = (rooted) != 0,
    static const bool table[] = {WEFT_COLL_MAP(ROOTED)};
#undef ROOTED
    return table[coll];
}

int perf_coll_parse(const char *text)
{
    for (size_t i = 0; i < OTHERS; i++) {
        if (strcmp(text, others[i].name) == 0) {
            return (int)others[i].coll;
        }
    }
    return tool_parse_name("collective", text, coll_names);
}

static bool is_program(const char *name, const char *coll)
{
    size_t length = strlen(coll);
    return strncmp(name, coll, length) == 0 && strcmp(name + length, "_perf") == 0;
}

int perf_coll_of_program(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;
    for (size_t i = 0; i < OTHERS; i++) {
        if (is_program(name, others[i].name)) {
            return (int)others[i].coll;
        }
    }
    for (int i = 0; coll_names[i] != NULL; i++) {
        if (is_program(name, coll_names[i])) {
            return i;
        }
    }
    return -1;
}

const char *perf_program_name(weft_coll_t coll)
{
    for (size_t i = 0; i < OTHERS; i++) {
        if (others[i].coll == coll) {
            return others[i].program;
        }
    }
    return programs[coll];
}

const char *perf_op_text(weft_coll_t coll, weft_op_t op)
{
    if (!perf_coll_reduces(coll)) {
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
        const char *other = NULL;
        for (size_t i = 0; i < OTHERS; i++) {
            other = others[i].coll == (weft_coll_t)c ? others[i].name : other;
        }
        fprintf(out, "%s%s%s%s%s", c % 5 == 0 ? "  " : " ", coll_names[c],
                other != NULL ? " [" : "", other != NULL ? other : "", other != NULL ? "]" : "");
        fputs(c % 5 == 4 ? "\n" : "", out);
    }
    fprintf(out, "  all: every one of them in turn, with a summary\n\n"
                 "Patterns of the v-forms (--pattern NAME or NAME:SEED):\n");
    for (int i = 0; pattern_names[i] != NULL; i++) {
        fprintf(out, "  %-8s  %s\n", pattern_names[i], pattern_helps[i]);
    }
}
