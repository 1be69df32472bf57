/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A training loop that loses ranks and goes on. Every rank has a part of the data and the same
 * weights; each step sums the gradients of all. When a rank dies the others shrink the
 * communicator, go back to the last step that all of them have, and continue without its data. With
 * --replace they take in a new process under the number of the dead one before they continue, so
 * that no data is missing in any step.
 *
 *   ./training 6 2@20 0@45 5@45              6 processes; 2 dies at step 20, 0 and 5 at step 45
 *   ./training --replace 6 2@20 0@45 5@45    the same, and new ones take their places
 *
 * It starts its ranks itself, because most launchers end the whole job with the first rank. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

enum { WEIGHTS = 16, ROWS = 64, STEPS = 400, RANKS_MOST = 64 };

#define NO_STEP UINT32_MAX /* of a newcomer, which has no weights yet */
#define NEVER (UINT32_MAX - 1)
/* How often the survivors try to be whole again, while others die. */
#define ATTEMPTS 20
/* Exit status of a newcomer whose communicator was not made, because somebody else died. */
#define NOT_NEEDED 3

static const float truth = 0.25F; /* weight i is truth * i */

typedef struct model {
    uint32_t step; /* the next one, or NO_STEP */
    float now[WEIGHTS], before[WEIGHTS];
} model_t;

typedef struct data {
    float x[ROWS][WEIGHTS], y[ROWS];
} data_t;

/* Data of a rank of the job: fixed by its number. */
static void data_make(data_t *data, uint32_t rank)
{
    uint32_t seed = 12345 + rank;
    for (int r = 0; r < ROWS; r++) {
        data->y[r] = 0;
        for (int i = 0; i < WEIGHTS; i++) {
            seed = seed * 1664525U + 1013904223U;
            data->x[r][i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
            data->y[r] += truth * (float)i * data->x[r][i];
        }
    }
}

static void model_gradient(const model_t *model, const data_t *data, float *gradient)
{
    memset(gradient, 0, WEIGHTS * sizeof *gradient);
    for (int r = 0; r < ROWS; r++) {
        float off = -data->y[r];
        for (int i = 0; i < WEIGHTS; i++) {
            off += model->now[i] * data->x[r][i];
        }
        for (int i = 0; i < WEIGHTS; i++) {
            gradient[i] += off * data->x[r][i] / (float)ROWS;
        }
    }
}

static void model_step(model_t *model, const float *sum, uint32_t nranks)
{
    memcpy(model->before, model->now, sizeof model->now);
    for (int i = 0; i < WEIGHTS; i++) {
        model->now[i] -= sum[i] / (float)nranks;
    }
    model->step++;
}

/* What a rank is in the job, whatever its number in a communicator. */
typedef struct worker {
    weft_comm_t *comm;
    uint32_t part;    /* of the data; its rank while all are here */
    uint32_t nparts;  /* ranks that the job was given */
    uint32_t dies_at; /* step, or NEVER */
    int replaces;     /* the dead are replaced */
    int wanted;       /* where the starter reads tickets of newcomers */
    data_t data;
    model_t model;
} worker_t;

/* To the process that starts ranks. Smaller than PIPE_BUF, so it is written as a whole. */
typedef struct newcomer {
    uint32_t part;
    weft_ticket_t ticket;
} newcomer_t;

/* Training ------------------------------------------------------------------------------------- */

/* Where everybody is, in a new communicator. Some ranks may have made a step that others have not:
 * nobody is more than one ahead, because a step ends when all have given their gradients. Newcomers
 * get the weights from the first rank that has them. Buffers of a call that fails are undefined, so
 * nothing of the model is one. */
static weft_status_t worker_synchronise(worker_t *w)
{
    model_t *model = &w->model;
    uint32_t least = NO_STEP, rank = 0, has_model = NO_STEP, source = NO_STEP;
    float weights[WEIGHTS];
    weft_status_t status =
        weft_all_reduce(&model->step, &least, 1, WEFT_UINT32, WEFT_MIN, w->comm, NULL);
    if (status == WEFT_OK && model->step != NO_STEP && model->step > least) {
        memcpy(model->now, model->before, sizeof model->now);
        model->step = least;
    }
    if (status == WEFT_OK) {
        status = weft_comm_rank(w->comm, &rank);
    }
    if (status == WEFT_OK) {
        has_model = model->step != NO_STEP ? rank : NO_STEP;
        status = weft_all_reduce(&has_model, &source, 1, WEFT_UINT32, WEFT_MIN, w->comm, NULL);
    }
    if (status == WEFT_OK) {
        memcpy(weights, model->now, sizeof weights);
        status = weft_broadcast(weights, weights, WEIGHTS, WEFT_FP32, source, w->comm, NULL);
    }
    if (status == WEFT_OK) {
        memcpy(model->now, weights, sizeof model->now);
        model->step = least;
    }
    return status;
}

static weft_status_t worker_train(worker_t *w)
{
    float mine[WEIGHTS], sum[WEIGHTS];
    uint32_t nranks = 1;
    weft_status_t status = weft_comm_size(w->comm, &nranks);
    model_gradient(&w->model, &w->data, mine);
    if (status == WEFT_OK) {
        status = weft_all_reduce(mine, sum, WEIGHTS, WEFT_FP32, WEFT_SUM, w->comm, NULL);
    }
    if (status == WEFT_OK) {
        model_step(&w->model, sum, nranks);
    }
    return status;
}

/* Recovery ------------------------------------------------------------------------------------- */

/* Replaces the communicator by one of the ranks that live. */
static weft_status_t worker_shrink(worker_t *w)
{
    weft_comm_t *fewer = NULL;
    /* So that nobody waits in it any more; failed ones are already. */
    (void)weft_comm_revoke(w->comm);
    weft_status_t status = weft_comm_shrink(w->comm, NULL, 0, &fewer);
    if (status == WEFT_OK) {
        (void)weft_comm_destroy(w->comm);
        w->comm = fewer;
    }
    return status;
}

/* Makes tickets for those that are missing, and has newcomers started with them. Returns how
 * many. */
static uint32_t worker_invite(const worker_t *w, uint64_t here, weft_ticket_t *tickets)
{
    uint32_t missing[RANKS_MOST], count = 0;
    for (uint32_t part = 0; part < w->nparts; part++) {
        if ((here >> part & 1) == 0) {
            missing[count++] = part;
        }
    }
    if (weft_comm_ticket(w->comm, missing, count, tickets) != WEFT_OK) {
        return 0; /* the others hear in weft_comm_grow() that nobody has tickets */
    }
    for (uint32_t i = 0; i < count; i++) {
        newcomer_t newcomer = {.part = missing[i], .ticket = tickets[i]};
        if (write(w->wanted, &newcomer, sizeof newcomer) != (ssize_t)sizeof newcomer) {
            perror("training: cannot ask for a newcomer");
        }
    }
    return count;
}

/* Replaces the communicator by one with all parts of the data, unless it has them. */
static weft_status_t worker_grow(worker_t *w)
{
    weft_ticket_t tickets[RANKS_MOST];
    weft_comm_t *grown = NULL;
    uint64_t mine = UINT64_C(1) << w->part, here = 0;
    uint32_t rank = 0, size = 0, count = 0;
    weft_status_t status = weft_all_reduce(&mine, &here, 1, WEFT_UINT64, WEFT_BOR, w->comm, NULL);
    if (status != WEFT_OK || weft_comm_rank(w->comm, &rank) != WEFT_OK ||
        weft_comm_size(w->comm, &size) != WEFT_OK || size == w->nparts) {
        return status;
    }
    count = rank == 0 ? worker_invite(w, here, tickets) : 0;
    status = weft_comm_grow(w->comm, count > 0 ? tickets : NULL, count, &grown);
    if (status == WEFT_OK) {
        (void)weft_comm_destroy(w->comm);
        w->comm = grown;
    }
    return status;
}

/* Growing has one outcome on all, so all of them try again, or none: without those that died
 * meanwhile, and with new tickets. */
static weft_status_t worker_recover(worker_t *w)
{
    weft_status_t status = worker_shrink(w), grown = WEFT_ERR_PEER_DEAD;
    for (int i = 0; status == WEFT_OK && w->replaces && grown != WEFT_OK; i++) {
        grown = worker_grow(w);
        if (grown != WEFT_OK) {
            status = i < ATTEMPTS ? worker_shrink(w) : grown;
        }
    }
    return status;
}

/* A rank --------------------------------------------------------------------------------------- */

static int report(const worker_t *w, const char *what)
{
    weft_error_t error = {.size = sizeof error};
    (void)weft_last_error(&error);
    fprintf(stderr, "rank %u: %s: %s\n", w->part, what, error.text);
    return 1;
}

/* Compares with the weights that one process computes from all parts. They were the same at every
 * step, or the way to them was another one: rounding apart, that is what replacing ranks
 * promises. */
static int result(const worker_t *w, float way)
{
    uint32_t nranks = 0;
    float worst = 0;
    (void)weft_comm_size(w->comm, &nranks);
    for (int i = 0; i < WEIGHTS; i++) {
        float off = fabsf(w->model.now[i] - truth * (float)i);
        worst = off > worst ? off : worst;
    }
    printf("rank %u: %u steps, %u ranks left, weights are off by %.1e", w->part, w->model.step,
           nranks, (double)worst);
    if (w->replaces) {
        printf(", and were %.1e off those of a run without deaths", (double)way);
    }
    printf("\n");
    return worst > 1e-3F || (w->replaces && (way > 1e-4F || nranks != w->nparts));
}

/* The weights of every step, as one process computes them from all parts. */
typedef struct reference {
    float weights[STEPS + 1][WEIGHTS];
} reference_t;

static void reference_make(reference_t *reference, uint32_t nparts)
{
    model_t model = {.step = 0};
    data_t data;
    while (model.step < STEPS) {
        float sum[WEIGHTS] = {0}, one[WEIGHTS];
        for (uint32_t part = 0; part < nparts; part++) {
            data_make(&data, part);
            model_gradient(&model, &data, one);
            for (int i = 0; i < WEIGHTS; i++) {
                sum[i] += one[i];
            }
        }
        model_step(&model, sum, nparts);
        memcpy(reference->weights[model.step], model.now, sizeof model.now);
    }
}

static float reference_distance(const reference_t *reference, const model_t *model)
{
    float worst = 0;
    for (int i = 0; i < WEIGHTS; i++) {
        float off = fabsf(model->now[i] - reference->weights[model->step][i]);
        worst = off > worst ? off : worst;
    }
    return worst;
}

/* `fresh`: the others are in a new communicator, too, and have to meet first. */
static int worker_run(worker_t *w, int fresh)
{
    static reference_t reference;
    float way = 0;
    data_make(&w->data, w->part);
    reference_make(&reference, w->nparts);
    while (w->model.step < STEPS || fresh) {
        if (w->model.step == w->dies_at) {
            kill(getpid(), SIGKILL);
        }
        weft_status_t status = fresh ? worker_synchronise(w) : WEFT_OK;
        if (status == WEFT_OK && w->model.step < STEPS) {
            status = worker_train(w);
        }
        if (status == WEFT_OK) {
            float off = reference_distance(&reference, &w->model);
            way = off > way ? off : way;
        }
        /* The last step is over when all have it. */
        if (status == WEFT_OK && w->model.step == STEPS) {
            status = weft_barrier(w->comm, NULL);
        }
        fresh = status != WEFT_OK;
        if (fresh && worker_recover(w) != WEFT_OK) {
            return report(w, "cannot go on");
        }
    }
    int wrong = result(w, way);
    return weft_comm_destroy(w->comm) != WEFT_OK || wrong;
}

/* Rank 0 makes the id and writes a copy for each other rank into the pipe. */
static int join_and_run(worker_t *w, const int fds[2])
{
    weft_unique_id_t id;
    if (w->part == 0 && weft_unique_id_create(&id, NULL) != WEFT_OK) {
        return report(w, "cannot make an id");
    }
    for (uint32_t r = 1; w->part == 0 && r < w->nparts; r++) {
        if (write(fds[1], &id, sizeof id) != (ssize_t)sizeof id) {
            return 1;
        }
    }
    if (w->part != 0 && read(fds[0], &id, sizeof id) != (ssize_t)sizeof id) {
        return 1;
    }
    if (weft_comm_init_rank(&w->comm, w->nparts, &id, w->part, NULL) != WEFT_OK) {
        return report(w, "cannot join");
    }
    return worker_run(w, 0);
}

static int come_and_run(worker_t *w, const newcomer_t *newcomer)
{
    w->part = newcomer->part;
    w->dies_at = NEVER;
    w->model.step = NO_STEP;
    if (weft_comm_join(&w->comm, &newcomer->ticket, NULL) != WEFT_OK) {
        (void)report(w, "did not come in");
        return NOT_NEEDED;
    }
    return worker_run(w, 1);
}

/* The starter ---------------------------------------------------------------------------------- */

/* Counts those that have ended, and of these the ones that failed otherwise than by SIGKILL, which
 * is how ranks die here. */
static void reap(uint32_t *living, int *failed)
{
    int status;
    while (waitpid(-1, &status, WNOHANG) > 0) {
        int expected =
            (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
            (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NOT_NEEDED));
        *failed += !expected;
        (*living)--;
    }
}

/* Starts the newcomers that the ranks ask for, until all have ended. */
static int serve(worker_t *like, int wanted, uint32_t living)
{
    int failed = 0;
    while (living > 0) {
        struct pollfd entry = {.fd = wanted, .events = POLLIN};
        newcomer_t newcomer;
        if (poll(&entry, 1, 10) > 0 &&
            read(wanted, &newcomer, sizeof newcomer) == (ssize_t)sizeof newcomer) {
            pid_t pid = fork();
            if (pid == 0) {
                exit(come_and_run(like, &newcomer));
            }
            living += pid > 0;
        }
        reap(&living, &failed);
    }
    return failed;
}

int main(int argc, char **argv)
{
    static worker_t like;
    uint32_t dies_at[RANKS_MOST], living = 0;
    int ids[2], wanted[2];
    like.replaces = argc > 1 && strcmp(argv[1], "--replace") == 0;
    argv += like.replaces;
    argc -= like.replaces;
    like.nparts = argc > 1 ? (uint32_t)atoi(argv[1]) : 4;
    if (like.nparts == 0 || like.nparts > RANKS_MOST || pipe(ids) != 0 || pipe(wanted) != 0) {
        fprintf(stderr, "usage: training [--replace] RANKS [RANK@STEP …], at most %d ranks\n",
                RANKS_MOST);
        return 2;
    }
    like.wanted = wanted[1];
    for (uint32_t r = 0; r < RANKS_MOST; r++) {
        dies_at[r] = NEVER;
    }
    for (int i = 2; i < argc; i++) {
        unsigned rank = 0, step = 0;
        if (sscanf(argv[i], "%u@%u", &rank, &step) != 2 || rank >= like.nparts) {
            fprintf(stderr, "training: %s is not RANK@STEP\n", argv[i]);
            return 2;
        }
        dies_at[rank] = step;
    }
    for (uint32_t r = 0; r < like.nparts; r++) {
        pid_t pid = fork();
        if (pid == 0) {
            like.part = r;
            like.dies_at = dies_at[r];
            exit(join_and_run(&like, ids));
        }
        living += pid > 0;
    }
    int failed = serve(&like, wanted[0], living);
    printf("%d processes failed\n", failed);
    return failed != 0;
}
