/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fault matrix: faults x transports x moments.
 *
 * Usage: fault-matrix list [CHOICE…]        a line of JSON for each cell
 *        fault-matrix run [OPTION…] [CHOICE…]  runs cells, a line of JSON for each; 1: one is red
 *   CHOICE  fault=WORDS, transport=WORDS, moment=WORDS or quick
 *   -n N    trials of a cell, each with another victim (3)
 *   -s X    bars are multiplied by X (1)
 *   -p      without a sandbox, for guests
 *   -v      with what ranks write to stderr */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config/nearest.h"
#include "trial.h"

enum { TRIALS_MOST = 100, EXIT_SKIPPED = 77 };

typedef struct choice {
    const char *fault, *transport, *moment;
    bool quick;
} choice_t;

typedef struct options {
    uint32_t trials;
    double slack;
    bool run;
    const char *how; /* trial.h */
    choice_t choice;
} options_t;

static void print_text(const char *key, const char *text)
{
    printf(",\"%s\":\"", key);
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    putchar('"');
}

static void print_cell(const cell_t *cell)
{
    printf("{\"fault\":\"%s\",\"transport\":\"%s\",\"moment\":\"%s\"", fault_name(cell->fault),
           transport_name(cell->transport), moment_name(cell->moment));
    if (cell->test != NULL) {
        print_text("test", cell->test);
    } else if (cell->none != NULL) {
        print_text("none", cell->none);
    } else {
        printf(",\"bar\":%.1f,\"quick\":%s", cell->bar, cell->quick ? "true" : "false");
    }
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

typedef struct tally {
    uint32_t taken, red, skipped;
} tally_t;

/* Runs all trials of a cell and prints them. */
static void run_cell(const cell_t *cell, const options_t *options, tally_t *tally)
{
    double ms[TRIALS_MOST], again = 0;
    outcome_t outcome = {0}, bad = {0};
    uint32_t n = options->trials, red = 0, on = MATRIX_RANKS;
    char status[sizeof outcome.status] = "";
    for (uint32_t i = 0; i < n; i++) {
        trial_run(cell, i, options->slack, options->how, &outcome);
        if (outcome.skipped) {
            break;
        }
        if (!outcome.green) {
            bad = outcome;
            red++;
        }
        ms[i] = outcome.ms;
        on = outcome.went_on < on ? outcome.went_on : on;
        again = outcome.again_ms > again ? outcome.again_ms : again;
        if (outcome.status[0] != '\0') {
            memcpy(status, outcome.status, sizeof status);
        }
    }
    print_cell(cell);
    if (outcome.skipped) {
        tally->skipped++;
        print_text("skipped", outcome.why);
    } else {
        qsort(ms, n, sizeof *ms, compare);
        printf(",\"trials\":%u,\"red\":%u,\"median_ms\":%.1f,\"worst_ms\":%.1f,\"again_ms\":%.1f,"
               "\"on\":%u",
               n, red, ms[n / 2], ms[n - 1], again, on);
        print_text("status", status);
        print_text("why", bad.why);
    }
    printf("}\n");
    fflush(stdout);
    tally->red += red > 0;
}

static bool chosen(const cell_t *cell, const choice_t *choice)
{
    return (choice->fault == NULL || strcmp(choice->fault, fault_name(cell->fault)) == 0) &&
           (choice->transport == NULL ||
            strcmp(choice->transport, transport_name(cell->transport)) == 0) &&
           (choice->moment == NULL || strcmp(choice->moment, moment_name(cell->moment)) == 0) &&
           (!choice->quick || cell->quick);
}

static void take_cell(const cell_t *cell, const options_t *options, tally_t *tally)
{
    bool runs = cell->test == NULL && cell->none == NULL;
    if (!chosen(cell, &options->choice) || (options->run && !runs)) {
        return;
    }
    tally->taken++;
    if (options->run) {
        run_cell(cell, options, tally);
    } else {
        print_cell(cell);
        printf("}\n");
    }
}

static void take_cells(const options_t *options, tally_t *tally)
{
    for (int f = 0; f < FAULTS; f++) {
        for (int t = 0; t < TRANSPORTS; t++) {
            for (int m = 0; m < MOMENTS; m++) {
                cell_t cell;
                cell_find((fault_t)f, (transport_t)t, (moment_t)m, &cell);
                take_cell(&cell, options, tally);
            }
        }
    }
}

/* In the words that scripts/test looks for. */
static int end_run(const tally_t *tally)
{
    if (tally->skipped > 0) {
        printf("[  SKIPPED ] %u_of_%u_cells_of_the_fault_matrix\n", tally->skipped, tally->taken);
    }
    if (tally->skipped == tally->taken) {
        printf("SKIPPED: no cell of the fault matrix can run here; the lines above say why\n");
        return EXIT_SKIPPED;
    }
    return tally->red > 0;
}

static const char usage_text[] =
    "usage: fault-matrix list|run [-n TRIALS] [-s SLACK] [-p] [-v] [fault=NAME] [transport=NAME] "
    "[moment=NAME] [quick]\n";

static _Noreturn void usage(const char *what)
{
    fprintf(stderr, "fault-matrix: %s\n%s", what, usage_text);
    exit(2);
}

/* Returns the name behind `key` in `word`, "fault=killed", or NULL if the word has another key. */
static const char *choose_name(const char *word, const char *key, const char *const *names,
                               uint32_t count)
{
    size_t bytes = strlen(key);
    weft_nearest_t nearest;
    char hint[64], text[160];
    if (strncmp(word, key, bytes) != 0) {
        return NULL;
    }
    weft_nearest_start(&nearest, word + bytes);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], word + bytes) == 0) {
            return names[i];
        }
        weft_nearest_offer(&nearest, names[i], strlen(names[i]));
    }
    weft_nearest_hint(&nearest, "", "", hint, sizeof hint);
    snprintf(text, sizeof text, "%.60s: no such name%s", word, hint);
    usage(text);
}

static void choose(choice_t *choice, const char *word)
{
    const char *fault = choose_name(word, "fault=", matrix_faults, FAULTS);
    const char *transport = choose_name(word, "transport=", matrix_transports, TRANSPORTS);
    const char *moment = choose_name(word, "moment=", matrix_moments, MOMENTS);
    bool quick = strcmp(word, "quick") == 0;
    if (fault == NULL && transport == NULL && moment == NULL && !quick) {
        usage(word);
    }
    choice->fault = fault != NULL ? fault : choice->fault;
    choice->transport = transport != NULL ? transport : choice->transport;
    choice->moment = moment != NULL ? moment : choice->moment;
    choice->quick = choice->quick || quick;
}

/* The cells that were asked for are others' or empty: says whose, and why. */
static int explain_empty(options_t options)
{
    tally_t tally = {.taken = 0};
    options.run = false;
    take_cells(&options, &tally);
    fprintf(stderr, "fault-matrix: none of these cells is run here%s\n",
            tally.taken > 0 ? "; the lines say why" : "");
    return 2;
}

int main(int argc, char **argv)
{
    options_t options = {.trials = 3, .slack = 1, .how = ""};
    int option;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(usage_text, stdout);
        return 0;
    }
    if (argc < 2 || (strcmp(argv[1], "list") != 0 && strcmp(argv[1], "run") != 0)) {
        usage("what to do?");
    }
    options.run = strcmp(argv[1], "run") == 0;
    optind = 2;
    while ((option = getopt(argc, argv, "n:s:pv")) != -1) {
        switch (option) {
        case 'n':
            options.trials = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 's':
            options.slack = strtod(optarg, NULL);
            break;
        case 'p':
            options.how = "pv";
            break;
        case 'v':
            options.how = *options.how == 'p' ? options.how : "v";
            break;
        default:
            usage("no such option");
        }
    }
    for (; optind < argc; optind++) {
        choose(&options.choice, argv[optind]);
    }
    if (options.trials == 0 || options.trials > TRIALS_MOST || !(options.slack > 0)) {
        usage("-n takes 1 to 100 trials, -s a factor above 0");
    }
    tally_t tally = {.taken = 0};
    take_cells(&options, &tally);
    if (tally.taken == 0) {
        return explain_empty(options);
    }
    return options.run ? end_run(&tally) : 0;
}
