/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-simtest: runs jobs on a simulated machine, one for each seed.
 *
 * Usage: weft-simtest [OPTION…]
 *   --seed N        one seed; with --replay twice, and both runs have to be the same
 *   --seeds N       that many seeds, from --from N (1) on
 *   --kind WORD     one of those that --help names
 *   --ranks N       ranks of the job
 *   --net PLUGINS   transports
 *   --verbose       what happens, line by line, and what the ranks log
 *   --image FILE, --plugins FOLDER  the program of a rank, the folder of the plugins */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

typedef struct options {
    run_options_t run;
    uint64_t from, count;
    bool replay;
} options_t;

static void print_result(uint64_t seed, const run_result_t *r)
{
    printf("seed %llu: %s: %s, %u ranks on %u hosts, %.3f s, %u steps, %u errors, %u shrinks, "
           "%llu calls, trace %016llx%s%s\n",
           (unsigned long long)seed, r->good ? "good" : "BAD", run_kind_name(r->kind), r->nranks,
           r->nhosts, r->seconds, r->steps, r->errors, r->shrinks, (unsigned long long)r->calls,
           (unsigned long long)r->trace, r->good ? "" : "\n  ", r->what);
    fflush(stdout);
}

static int replay(const options_t *options)
{
    run_result_t first, second;
    run_options_t quiet = options->run;
    quiet.loud = false;
    run_seed(&quiet, options->from, &first);
    run_seed(&quiet, options->from, &second);
    print_result(options->from, &second);
    if (first.trace != second.trace) {
        printf("seed %llu: the first run had trace %016llx\n", (unsigned long long)options->from,
               (unsigned long long)first.trace);
        return 1;
    }
    if (options->run.loud) {
        run_seed(&options->run, options->from, &second);
    }
    if (first.trace != second.trace) {
        printf("seed %llu: the run that was told had trace %016llx\n",
               (unsigned long long)options->from, (unsigned long long)second.trace);
        return 1;
    }
    return !first.good;
}

static int run_all(const options_t *options)
{
    uint64_t bad = 0, calls = 0, turns = 0, errors = 0, steps = 0;
    time_t began = time(NULL);
    for (uint64_t seed = options->from; seed < options->from + options->count; seed++) {
        run_result_t result;
        run_seed(&options->run, seed, &result);
        bad += !result.good;
        calls += result.calls;
        turns += result.turns;
        errors += result.errors;
        steps += result.steps;
        if (!result.good || options->count == 1) {
            print_result(seed, &result);
        }
    }
    printf("%llu seeds, %llu bad; %llu steps, %llu errors, %llu calls of the system, %llu turns, "
           "%lld s\n",
           (unsigned long long)options->count, (unsigned long long)bad, (unsigned long long)steps,
           (unsigned long long)errors, (unsigned long long)calls, (unsigned long long)turns,
           (long long)(time(NULL) - began));
    return bad > 0;
}

static void usage_print(FILE *out)
{
    fprintf(out, "usage: weft-simtest [--seed N [--replay] | --seeds N [--from N]] [--ranks N] "
                 "[--net PLUGINS] [--verbose] [--image FILE] [--plugins FOLDER] [--kind KIND]\n"
                 "kinds, in turn if none is named:");
    for (int k = 0; k < RUN_KINDS; k++) {
        fprintf(out, " %s", run_kind_name((run_kind_t)k));
    }
    fprintf(out, "\n");
}

static _Noreturn void usage(const char *what)
{
    fprintf(stderr, "weft-simtest: %s\n", what);
    usage_print(stderr);
    exit(2);
}

static uint64_t number_of(const char *text, uint64_t least, uint64_t most)
{
    char *end, what[160];
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || number < least || number > most) {
        snprintf(what, sizeof what, "%.40s is no number from %llu to %llu", text,
                 (unsigned long long)least, (unsigned long long)most);
        usage(what);
    }
    return number;
}

static int kind_of(const char *word)
{
    char what[80];
    for (int k = 0; k < RUN_KINDS; k++) {
        if (strcmp(run_kind_name((run_kind_t)k), word) == 0) {
            return k;
        }
    }
    snprintf(what, sizeof what, "%.40s is no kind of run", word);
    usage(what);
}

static options_t options_read(int argc, char **argv)
{
    enum { SEED, SEEDS, FROM, REPLAY, KIND, RANKS, NET, VERBOSE, IMAGE, PLUGINS, HELP };
    static const struct option names[] = {
        {"seed", 1, NULL, SEED},       {"seeds", 1, NULL, SEEDS},     {"from", 1, NULL, FROM},
        {"replay", 0, NULL, REPLAY},   {"kind", 1, NULL, KIND},       {"ranks", 1, NULL, RANKS},
        {"net", 1, NULL, NET},         {"verbose", 0, NULL, VERBOSE}, {"image", 1, NULL, IMAGE},
        {"plugins", 1, NULL, PLUGINS}, {"help", 0, NULL, HELP},       {NULL, 0, NULL, 0}};
    options_t o = {.run = {.image = WEFT_SIMULATED_RANK, .plugins = WEFT_PLUGIN_DIR, .kind = -1},
                   .from = 1,
                   .count = 100};
    int which;
    while ((which = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        switch (which) {
        case SEED:
            o.from = number_of(optarg, 0, UINT64_MAX - 1);
            o.count = 1;
            break;
        case SEEDS:
            o.count = number_of(optarg, 1, UINT64_MAX / 2);
            break;
        case FROM:
            o.from = number_of(optarg, 0, UINT64_MAX / 2);
            break;
        case REPLAY:
            o.replay = true;
            break;
        case KIND:
            o.run.kind = kind_of(optarg);
            break;
        case RANKS:
            o.run.ranks = (uint32_t)number_of(optarg, 2, PLAYERS);
            break;
        case NET:
            o.run.net = optarg;
            break;
        case VERBOSE:
            o.run.loud = true;
            break;
        case IMAGE:
            o.run.image = optarg;
            break;
        case PLUGINS:
            o.run.plugins = optarg;
            break;
        case HELP:
            usage_print(stdout);
            exit(0);
        default:
            usage("no such option");
        }
    }
    if (optind < argc) {
        usage(argv[optind]);
    }
    return o;
}

/* Addresses are the same in each run, and no variable of the environment sets an option of weft.
 * Images have variables of threads that the dynamic linker has to make room for at its
 * beginning. */
static void begin_alike(char **argv)
{
    const char *room = "glibc.rtld.optional_static_tls=262144", *has = getenv("GLIBC_TUNABLES");
    int before = personality(0xffffffff);
    if (has == NULL || strcmp(has, room) != 0) {
        clearenv();
        setenv("GLIBC_TUNABLES", room, 1);
        (void)personality((unsigned long)before | ADDR_NO_RANDOMIZE);
        execv("/proc/self/exe", argv);
    }
}

/* Libraries that all images share begin once, which the first run would see. Where plugins are
 * missing no rank joins, which in many kinds of run is nothing wrong. */
static void begin_libraries(const options_t *options)
{
    run_result_t result;
    run_options_t first = options->run;
    first.kind = RUN_CALM;
    first.ranks = 2;
    first.net = first.net != NULL ? first.net : "net-shm net-socket";
    first.loud = false;
    run_seed(&first, 1, &result);
    if (!result.good) {
        fprintf(stderr, "weft-simtest: two ranks to which nothing happens cannot run: %s\n",
                result.what);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    options_t options = options_read(argc, argv);
    begin_alike(argv);
    begin_libraries(&options);
    return options.replay ? replay(&options) : run_all(&options);
}
