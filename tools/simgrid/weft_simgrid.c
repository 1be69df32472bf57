/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft-simgrid: runs the plans of all ranks, given as text, on a network simulated by SimGrid, and
 * prints the time in seconds. Started by `weft sim --simgrid`, which proves the plans first. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/plan/plan_parse.h"
#include "tools/simgrid/simgrid_plan.h"
#include "tools/simgrid/simgrid_platform.h"

static char *weft_simgrid_read_file(const char *path)
{
    FILE *in = fopen(path, "re");
    char *text = NULL;
    size_t used = 0, room = 0;
    while (in != NULL && !ferror(in)) {
        if (room - used < 4096) {
            room = room == 0 ? 65536 : 2 * room;
            char *larger = realloc(text, room);
            if (larger == NULL) {
                break;
            }
            text = larger;
        }
        size_t got = fread(text + used, 1, room - used - 1, in);
        used += got;
        text[used] = '\0';
        if (got == 0) {
            break;
        }
    }
    if (in != NULL) {
        fclose(in);
    }
    return text;
}

/* Every plan begins with a line "plan …". */
static int weft_simgrid_read_plans(job_t *job, char *text)
{
    uint32_t room = 0;
    for (char *at = text; at != NULL && *at != '\0';) {
        char *next = strstr(at, "\nplan ");
        if (next != NULL) {
            *next = '\0';
        }
        if (job->nranks == room) {
            room = room == 0 ? 64 : 2 * room;
            weft_plan_t **larger = realloc(job->plans, room * sizeof(weft_plan_t *));
            if (larger == NULL) {
                return -1;
            }
            job->plans = larger;
        }
        if (weft_plan_parse(at, &job->plans[job->nranks]) != WEFT_OK) {
            fprintf(stderr, "weft-simgrid: plan %u: %s\n", job->nranks, weft_error_record()->text);
            return -1;
        }
        if (job->plans[job->nranks]->rank != job->nranks) {
            fprintf(stderr, "weft-simgrid: plan %u is that of rank %u\n", job->nranks,
                    job->plans[job->nranks]->rank);
            return -1;
        }
        job->nranks++;
        at = next != NULL ? next + 1 : NULL;
    }
    return job->nranks > 0 && job->nranks == job->plans[0]->nranks ? 0 : -1;
}

static int weft_simgrid_take(job_options_t *options, const char *name, const char *value)
{
    double number = strtod(value, NULL);
    if (strcmp(name, "--plans") == 0) {
        options->plans = value;
    } else if (strcmp(name, "--platform") == 0) {
        options->platform = value;
    } else if (strcmp(name, "--per-host") == 0 && number >= 1) {
        options->per_host = (uint32_t)number;
    } else if (strcmp(name, "--slots") == 0 && number >= 1) {
        options->slots = (uint32_t)number;
    } else if (strcmp(name, "--slices") == 0 && number >= 1) {
        options->slices = (uint32_t)number;
    } else if (strcmp(name, "--passes") == 0 && number >= 1 && number <= UINT32_MAX) {
        options->passes = (uint32_t)number;
    } else if (strcmp(name, "--slice-bytes") == 0 && number >= 0) {
        options->slice_bytes = number;
    } else if (strcmp(name, "--alpha") == 0 && number >= 0) {
        options->alpha = number;
    } else if (strcmp(name, "--beta") == 0 && number >= 0) {
        options->beta = number;
    } else if (strcmp(name, "--gamma") == 0 && number >= 0) {
        options->gamma = number;
    } else if (strcmp(name, "--overhead") == 0 && number >= 0) {
        options->overhead = number;
    } else {
        fprintf(stderr, "weft-simgrid: bad option %s %s\n", name, value);
        return -1;
    }
    return 0;
}

static int weft_simgrid_load_platform(const job_options_t *options, uint32_t hosts)
{
    char path[] = "/tmp/weft-platform-XXXXXX.xml";
    if (options->platform != NULL) {
        simgrid_load_platform(options->platform);
        return 0;
    }
    int fd = mkstemps(path, 4);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        fprintf(stderr, "weft-simgrid: cannot write %s\n", path);
        return -1;
    }
    platform_write(options, hosts, out);
    fclose(out);
    simgrid_load_platform(path);
    unlink(path);
    return 0;
}

/* Latency and bandwidth as given, without the corrections for TCP of the default model. Errors are
 * lines of words alone: whoever started us shows the first. */
static void weft_simgrid_start_engine(char *program)
{
    char model[] = "--cfg=network/model:CM02", stack[] = "--cfg=contexts/stack-size:128";
    char quiet[] = "--log=root.thres:error", plain[] = "--log=root.fmt:%m%n";
    char *argv[] = {program, model, stack, quiet, plain, NULL};
    int argc = 5;
    simgrid_init(&argc, argv);
}

static int weft_simgrid_run(job_t *job, char *program)
{
    uint32_t per_host = job->options->per_host;
    weft_simgrid_start_engine(program);
    if (weft_simgrid_load_platform(job->options, (job->nranks + per_host - 1) / per_host) != 0 ||
        job_start(job) != 0) {
        return 1;
    }
    simgrid_run();
    if (job->lanes_over < job->nlanes) {
        fprintf(stderr, "weft-simgrid: %u of %u lanes came to their end\n", job->lanes_over,
                job->nlanes);
        return 3;
    }
    printf("%.9g\n", job->end);
    return 0;
}

static int usage(FILE *out, int code)
{
    fprintf(out, "usage: weft-simgrid --plans FILE [--platform FILE] [--per-host N] [--slots S] "
                 "[--slices L] [--passes P] [--slice-bytes B] [--alpha S] [--beta S] [--gamma S] "
                 "[--overhead S]\n");
    return code;
}

int main(int argc, char **argv)
{
    job_options_t options = {.per_host = 1, .slots = 8, .slices = 1, .passes = 1};
    job_t job = {.options = &options};
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        return usage(stdout, 0);
    }
    for (int i = 1; i + 1 < argc; i += 2) {
        if (weft_simgrid_take(&options, argv[i], argv[i + 1]) != 0) {
            return 6;
        }
    }
    if (options.plans == NULL || argc % 2 == 0) {
        return usage(stderr, 6);
    }
    char *text = weft_simgrid_read_file(options.plans);
    int code = 3;
    if (text == NULL) {
        fprintf(stderr, "weft-simgrid: cannot read %s\n", options.plans);
    } else if (weft_simgrid_read_plans(&job, text) != 0) {
        fprintf(stderr, "weft-simgrid: %s does not hold the plans of all ranks\n", options.plans);
    } else {
        code = weft_simgrid_run(&job, argv[0]);
    }
    job_free(&job);
    for (uint32_t r = 0; r < job.nranks; r++) {
        weft_plan_destroy(job.plans[r]);
    }
    free(job.plans);
    free(text);
    return code;
}
