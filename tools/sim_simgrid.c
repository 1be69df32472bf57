/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft sim --simgrid`: proves the plans, writes them as text and has weft-simgrid run them, one
 * process per size, for SimGrid can be started once in a process. */
#include "tools/sim_simgrid.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/plan/plan_print.h"
#include "tools/json.h"
#include "tools/plan_price.h"
#include "tools/plan_source.h"
#include "tools/sim_point.h"
#include "tools/tool.h"

#define RANKS_MOST 1024u

typedef struct simgrid_job {
    const sim_request_t *request;
    char program[512], plans[64];
    FILE *said; /* what the program writes to its stderr */
    sim_point_t point;
    json_t json;
} simgrid_job_t;

static int sim_simgrid_find_program(simgrid_job_t *job)
{
    if (tool_beside("weft-simgrid", job->program, sizeof job->program)) {
        return TOOL_OK;
    }
    tool_usage(
        "--simgrid needs the program weft-simgrid beside weft; it is built where CMake finds "
        "SimGrid (Debian: libsimgrid-dev)");
    return TOOL_UNIMPLEMENTED;
}

static weft_status_t sim_simgrid_write_plans(simgrid_job_t *job, const plan_set_t *set)
{
    strcpy(job->plans, "/tmp/weft-plans-XXXXXX");
    int fd = mkstemp(job->plans);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot write %s", job->plans);
    }
    for (uint32_t r = 0; r < set->nranks; r++) {
        weft_plan_print(set->plans[r], out);
    }
    bool good = !ferror(out);
    if (fclose(out) != 0 || !good) {
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot write %s", job->plans);
    }
    return WEFT_OK;
}

/* Runs the program and reads the number that it prints. */
static bool sim_simgrid_run_program(const simgrid_job_t *job, char *const *argv, double *seconds_p)
{
    int ends[2], wait_status = 0;
    char text[64] = "";
    pid_t pid;
    posix_spawn_file_actions_t actions;
    rewind(job->said);
    if (ftruncate(fileno(job->said), 0) != 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(job->said), STDERR_FILENO);
    char *environment[] = {NULL}; /* all it needs is on its command line */
    int error = posix_spawn(&pid, argv[0], &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    for (size_t used = 0; error == 0 && used < sizeof text - 1;) {
        ssize_t got = read(ends[0], text + used, sizeof text - 1 - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        used += (size_t)got;
    }
    close(ends[0]);
    while (error == 0 && waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
    char *end = text;
    *seconds_p = strtod(text, &end);
    return error == 0 && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 && end != text;
}

/* Tells why the program failed: the first line that it said, without what is of no use to a
 * user. */
static int sim_simgrid_tell_failure(const simgrid_job_t *job)
{
    static const char exception[] = "Uncaught exception ", own[] = "weft-simgrid: ";
    char line[512];
    rewind(job->said);
    if (fgets(line, sizeof line, job->said) == NULL) {
        snprintf(line, sizeof line, "it ended without a word");
    }
    line[strcspn(line, "\n")] = '\0';
    const char *words = line;
    if (strncmp(line, own, strlen(own)) == 0) {
        words += strlen(own);
    } else if (strncmp(line, exception, strlen(exception)) == 0 && strstr(line, ": ") != NULL) {
        words = strstr(line, ": ") + 2;
    }
    tool_usage("SimGrid, %s, %s over %u ranks: %s",
               job->request->platform != NULL ? job->request->platform : "a fat tree",
               job->point.algo, job->point.nranks, words);
    return TOOL_LIBRARY;
}

typedef char number_t[32];

static const char *sim_simgrid_put_number(number_t text, double value)
{
    snprintf(text, sizeof(number_t), "%.12g", value);
    return text;
}

static bool sim_simgrid_simulate(const simgrid_job_t *job, const price_time_t *cut, uint64_t size,
                                 double *seconds_p)
{
    const price_model_t *m = &job->point.model;
    const sim_request_t *q = job->request;
    uint32_t k = job->point.survey.k;
    uint64_t block = price_block(q->coll, job->point.nranks, size);
    uint64_t pass = (uint64_t)k * cut->slices * cut->slice_bytes;
    uint64_t passes = block == 0 ? 1 : (block + pass - 1) / pass;
    double slice = (double)block / ((double)passes * cut->slices * k);
    number_t n[9];
    const char *argv[] = {job->program,
                          "--plans",
                          job->plans,
                          "--per-host",
                          sim_simgrid_put_number(n[0], (double)q->per_host),
                          "--slots",
                          sim_simgrid_put_number(n[1], (double)q->slots),
                          "--slices",
                          sim_simgrid_put_number(n[2], cut->slices),
                          "--passes",
                          sim_simgrid_put_number(n[3], (double)passes),
                          "--slice-bytes",
                          sim_simgrid_put_number(n[4], slice),
                          "--alpha",
                          sim_simgrid_put_number(n[5], m->edge.alpha),
                          "--beta",
                          sim_simgrid_put_number(n[6], m->edge.beta),
                          "--gamma",
                          sim_simgrid_put_number(n[7], m->gamma),
                          "--overhead",
                          sim_simgrid_put_number(n[8], m->edge.overhead),
                          q->platform != NULL ? "--platform" : NULL,
                          q->platform,
                          NULL};
    char *copies[sizeof argv / sizeof argv[0]] = {NULL};
    bool good = true;
    for (size_t i = 0; argv[i] != NULL && good; i++) {
        copies[i] = strdup(argv[i]);
        good = copies[i] != NULL;
    }
    good = good && sim_simgrid_run_program(job, copies, seconds_p);
    for (size_t i = 0; copies[i] != NULL; i++) {
        free(copies[i]);
    }
    return good;
}

static void sim_simgrid_put_row(simgrid_job_t *job, uint64_t size, double walk, double simulated)
{
    const sim_point_t *p = &job->point;
    if (job->request->form == SIM_JSON) {
        json_open(&job->json, NULL, '{');
        json_string(&job->json, "algo", p->algo);
        json_unsigned(&job->json, "nranks", p->nranks);
        json_unsigned(&job->json, "size", size);
        json_real(&job->json, "walk_seconds", walk);
        json_real(&job->json, "simgrid_seconds", simulated);
        json_close(&job->json, '}');
    } else if (job->request->form == SIM_CSV) {
        printf("\"%s\",%u,%llu,%.9g,%.9g\n", p->algo, p->nranks, (unsigned long long)size, walk,
               simulated);
    } else {
        printf("%8u %12llu  %-24s %12.2f %12.2f %8.2f\n", p->nranks, (unsigned long long)size,
               p->algo, walk * 1e6, simulated * 1e6, simulated / walk);
    }
    fflush(stdout);
}

static int sim_simgrid_run_sizes(simgrid_job_t *job)
{
    const sim_point_t *p = &job->point;
    uint64_t size = 0;
    while (price_next_size(&job->request->price, &size)) {
        const price_plan_t plan = sim_point_plan(job->request, p);
        price_time_t cut = price_time(&plan, &p->model, size);
        double simulated = 0;
        if (!sim_simgrid_simulate(job, &cut, size, &simulated)) {
            return sim_simgrid_tell_failure(job);
        }
        sim_simgrid_put_row(job, size, cut.seconds, simulated);
    }
    return TOOL_OK;
}

static int sim_simgrid_run_ranks(simgrid_job_t *job, const plan_source_t *source, uint32_t nranks)
{
    const sim_request_t *q = job->request;
    plan_hosts_t hosts = {.count = (nranks + (uint32_t)q->per_host - 1) / (uint32_t)q->per_host};
    weft_status_t status = sim_survey(q, source, q->coll, nranks, &job->point);
    if (status == WEFT_OK && !sim_point_good(&job->point)) {
        fprintf(stderr, "weft: %s over %u ranks: %s\n", source->label, nranks,
                job->point.served ? job->point.survey.text : job->point.why);
        return TOOL_OK;
    }
    plan_set_t set = {0};
    int code = TOOL_OK;
    if (status == WEFT_OK) {
        status = plan_set_emit(&set, source, q->coll, nranks, (uint32_t)q->root, &hosts);
    }
    status = status == WEFT_OK ? sim_simgrid_write_plans(job, &set) : status;
    plan_set_free(&set);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    code = sim_simgrid_run_sizes(job);
    unlink(job->plans);
    return code;
}

static int sim_simgrid_run_algorithm(simgrid_job_t *job, const char *spec)
{
    plan_source_t source;
    int code = plan_source_open(&source, &job->request->settings, spec, NULL, 0);
    if (code != TOOL_OK) {
        return code;
    }
    for (uint32_t i = 0; i < job->request->nranks && code == TOOL_OK; i++) {
        code = sim_simgrid_run_ranks(job, &source, job->request->ranks[i]);
    }
    plan_source_close(&source);
    return code;
}

static int sim_simgrid_run_all(simgrid_job_t *job)
{
    const sim_request_t *request = job->request;
    int code = sim_simgrid_find_program(job);
    for (uint32_t i = 0; i < request->nranks && code == TOOL_OK; i++) {
        if (request->ranks[i] > RANKS_MOST) {
            code =
                tool_usage("--simgrid takes up to %u ranks, not %u", RANKS_MOST, request->ranks[i]);
        }
    }
    if (code != TOOL_OK) {
        return code;
    }
    if (request->form == SIM_JSON) {
        json_open(&job->json, NULL, '[');
    } else if (request->form == SIM_CSV) {
        puts("algorithm,nranks,size,walk_seconds,simgrid_seconds");
    } else {
        printf("# %s, cost walk and SimGrid on %s\n# %6s %12s  %-24s %12s %12s %8s\n",
               weft_coll_name(request->coll),
               request->platform != NULL ? request->platform : "a fat tree", "ranks", "size",
               "algorithm", "walk (us)", "SimGrid (us)", "ratio");
    }
    for (uint32_t a = 0; a < request->nspecs && code == TOOL_OK; a++) {
        code = sim_simgrid_run_algorithm(job, request->specs[a]);
    }
    if (request->form == SIM_JSON) {
        json_close(&job->json, ']');
    }
    return code;
}

int sim_simgrid(const sim_request_t *request)
{
    simgrid_job_t job = {.request = request, .said = tmpfile(), .json = {.out = stdout}};
    if (job.said == NULL) {
        return tool_report(weft_fail(WEFT_ERR_SYSTEM, errno, "cannot make a temporary file"));
    }
    int code = sim_simgrid_run_all(&job);
    fclose(job.said);
    return code;
}
