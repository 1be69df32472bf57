/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cuts a job's network again and again. Usage: partitions [-v] [-c CUT] [-l LIMIT] SECONDS [RANKS
 * [SEED]]
 *   -v  says what each member comes to, and shows what they log
 *   -c  only cuts of this kind, and nobody is killed or stopped: off, deaf and mute (one
 *       host), apart (some from others)
 *   -l  boot.unresponsive in seconds, 1 if not given; a cut lasts for up to three seconds more
 *
 * Each rank is on a host of its own, over net-socket, with a quorum. Hosts are cut off, from each
 * other or in one direction; meanwhile ranks are killed and stopped. Whoever is missed is replaced,
 * also where it lives on the other side. Then the network is whole again, and the job has to be,
 * too, or all of it has ended. A line of JSON for each cut. Exit code 1: a number was wrong, two
 * sides went on, an error was none of those that are promised, or something stood still; 77: this
 * machine has no namespaces. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os.h"
#include "partitions.h"

enum { LATE_S = 100, CUT_LEAST_MS = 100, CUT_OVER_MS = 3000, EXIT_SKIPPED = 77 };

typedef struct job {
    board_t *board;
    network_t network;
    uint32_t nranks, nmembers;
    unsigned seed, draws;
    bool verbose;
    cut_t cut;        /* CUTS: any, and ranks are killed and stopped, too */
    unsigned limit_s; /* boot.unresponsive */
    double seconds;
    uint64_t begin;
    pid_t pids[MEMBERS_MOST]; /* by member; 0: it has ended */
    uint32_t seat[MEMBERS_MOST];
    uint64_t started_at[MEMBERS_MOST];
    bool killed[MEMBERS_MOST];
    uint32_t served[HOSTS_MOST];             /* wishes */
    uint32_t cuts, lost, kills, stops, jobs; /* so far */
    uint32_t alone; /* jobs that ended because one host was cut off, and nothing else happened */
    uint32_t early; /* cuts of less than 3/4 of the limit, and nothing else, that cost a member */
    uint64_t dark;  /* since then no second has passed without a cut */
    uint64_t healed;
    uint64_t healed_longest, step_longest; /* ns */
} job_t;

static uint32_t below(job_t *job, uint32_t limit)
{
    return (uint32_t)rand_r(&job->draws) % limit;
}

__attribute__((noreturn, format(printf, 2, 3))) static void fail(const job_t *job,
                                                                 const char *format, ...)
{
    va_list args;
    fprintf(stderr, "partitions: seed %u, after %u cuts, the last one: %s: ", job->seed, job->cuts,
            job->network.cut);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    for (uint32_t m = 0; m < job->nmembers; m++) {
        if (job->pids[m] != 0) {
            fprintf(stderr, "  member %u, seat %u, pid %d: last right result %.1f s ago\n", m,
                    job->seat[m], (int)job->pids[m],
                    (double)(weft_os_clock_ns() - atomic_load(&job->board->members[m].right_at)) /
                        1e9);
        }
    }
    exit(1);
}

/* Members -------------------------------------------------------------------------------------- */

static void start_member(job_t *job, uint32_t seat, bool first)
{
    pid_t parent = getpid();
    uint32_t member = job->nmembers;
    if (member == MEMBERS_MOST) {
        fail(job, "%d members are the most", MEMBERS_MOST);
    }
    task_t task = {.board = job->board,
                   .nranks = job->nranks,
                   .seat = seat,
                   .member = member,
                   .first = first,
                   .seed = job->seed,
                   .limit_s = job->limit_s};
    job->nmembers++;
    job->seat[member] = seat;
    job->started_at[member] = weft_os_clock_ns();
    fflush(NULL);
    job->pids[member] = fork();
    if (job->pids[member] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || !network_enter(&job->network, seat) ||
            (!job->verbose && freopen("/dev/null", "w", stderr) == NULL)) {
            _exit(3);
        }
        _exit(member_live(&task));
    }
}

/* All ranks from the beginning. */
static void start_job(job_t *job)
{
    atomic_store(&job->board->ready, 0);
    job->jobs++;
    for (uint32_t s = 0; s < job->nranks; s++) {
        start_member(job, s, true);
    }
}

static void note_end(job_t *job, uint32_t m, int status)
{
    const member_t *record = &job->board->members[m];
    uint32_t state = atomic_load(&record->state);
    uint64_t longest = atomic_load(&record->longest);
    job->pids[m] = 0;
    if (job->verbose) {
        fprintf(stderr, "%.1f s: member %u, seat %u: %s\n",
                (double)(weft_os_clock_ns() - job->begin) / 1e9, m, job->seat[m],
                job->killed[m] ? "killed" : record->why);
    }
    if (job->killed[m]) {
        return;
    }
    if (state == WRONG || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail(job, "member %u, seat %u, status %#x: %s", m, job->seat[m], (unsigned)status,
             record->why);
    }
    job->lost += state == LOST;
    job->step_longest = longest > job->step_longest ? longest : job->step_longest;
}

/* Takes note of who has ended; returns how many live. */
static uint32_t reap(job_t *job)
{
    const uint64_t now = weft_os_clock_ns();
    uint32_t alive = 0;
    for (uint32_t m = 0; m < job->nmembers; m++) {
        int status = 0;
        if (job->pids[m] == 0) {
            continue;
        }
        if (waitpid(job->pids[m], &status, WNOHANG) == job->pids[m]) {
            note_end(job, m, status);
            continue;
        }
        uint64_t right_at = atomic_load(&job->board->members[m].right_at);
        uint64_t since = right_at > job->started_at[m] ? right_at : job->started_at[m];
        if (now > since + LATE_S * WEFT_NS_PER_S) {
            fail(job, "member %u, seat %u, stands still", m, job->seat[m]);
        }
        alive++;
    }
    return alive;
}

/* Starts the newcomers that are wanted; whoever had the seat may live, too. */
static uint32_t serve(job_t *job)
{
    for (uint32_t s = 0; s < job->nranks; s++) {
        uint32_t wanted = atomic_load(&job->board->seats[s].wanted);
        if (wanted != job->served[s]) {
            job->served[s] = wanted;
            start_member(job, s, false);
        }
    }
    return reap(job);
}

static void serve_for(job_t *job, uint64_t ns)
{
    uint64_t until = weft_os_clock_ns() + ns;
    while (weft_os_clock_ns() < until) {
        (void)serve(job);
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
}

/* Whether each seat has had a right result since then. */
static bool is_whole(const job_t *job, uint64_t since)
{
    uint32_t seats = 0;
    for (uint32_t m = 0; m < job->nmembers; m++) {
        if (job->pids[m] != 0 && atomic_load(&job->board->members[m].right_at) >= since) {
            seats |= 1u << job->seat[m];
        }
    }
    return seats == (1u << job->nranks) - 1;
}

/* Returns false where all members have ended. */
static bool await_whole(job_t *job, uint64_t since)
{
    while (!is_whole(job, since)) {
        if (serve(job) == 0) {
            return false;
        }
        if (weft_os_clock_ns() > since + LATE_S * WEFT_NS_PER_S) {
            fail(job, "the job is not whole after %d s", LATE_S);
        }
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    return true;
}

/* Cuts ----------------------------------------------------------------------------------------- */

/* Returns a member that lives, by lot, or nmembers. */
static uint32_t choose_member(job_t *job)
{
    uint32_t living[MEMBERS_MOST], count = 0;
    for (uint32_t m = 0; m < job->nmembers; m++) {
        if (job->pids[m] != 0) {
            living[count++] = m;
        }
    }
    return count > 0 ? living[below(job, count)] : job->nmembers;
}

/* In one of four cuts a member is killed, and in one of four another one is stopped until its
 * end. */
static void cut(job_t *job, const char **also_p)
{
    const uint32_t what = job->cut == CUTS ? below(job, 4) : 3;
    const uint64_t ms = CUT_LEAST_MS + below(job, CUT_OVER_MS + job->limit_s * 1000 - CUT_LEAST_MS);
    const uint64_t before = below(job, (uint32_t)ms) * WEFT_NS_PER_MS;
    network_cut(&job->network, job->cut, &job->draws);
    job->cuts++;
    serve_for(job, before);
    uint32_t m = what < 2 ? choose_member(job) : job->nmembers;
    *also_p = "";
    if (m < job->nmembers && what == 0) {
        job->killed[m] = true;
        job->kills++;
        kill(job->pids[m], SIGKILL);
        *also_p = ", one is killed";
    } else if (m < job->nmembers) {
        job->stops++;
        kill(job->pids[m], SIGSTOP);
        *also_p = ", one is stopped";
    }
    serve_for(job, ms * WEFT_NS_PER_MS - before);
    if (m < job->nmembers && what == 1 && job->pids[m] != 0) {
        kill(job->pids[m], SIGCONT);
    }
    network_heal(&job->network);
}

static void pass_cut(job_t *job)
{
    const char *also = "";
    char what[sizeof job->network.cut];
    uint32_t lost = job->lost, members = job->nmembers;
    serve_for(job, below(job, 400) * WEFT_NS_PER_MS);
    uint64_t begin = weft_os_clock_ns();
    /* Connections that broke may not be made again before a second has passed: for those the cuts
     * are one. */
    job->dark = begin > job->healed + WEFT_NS_PER_S ? begin : job->dark;
    cut(job, &also);
    uint64_t healed = job->healed = weft_os_clock_ns();
    memcpy(what, job->network.cut, sizeof what);
    bool lives = await_whole(job, healed);
    uint64_t took = weft_os_clock_ns() - healed;
    if (!lives) {
        job->alone += *also == '\0' && strncmp(what, "host ", 5) == 0;
        start_job(job);
        if (!await_whole(job, weft_os_clock_ns())) {
            fail(job, "a new job does not begin");
        }
    } else if (took > job->healed_longest) {
        job->healed_longest = took;
    }
    job->early += *also == '\0' && job->nmembers > members &&
                  (healed - job->dark) / WEFT_NS_PER_MS < job->limit_s * 750;
    printf("{\"seconds\":%.1f,\"cut\":\"%s%s\",\"cut_ms\":%.0f,\"whole_ms\":%.0f,\"lost\":%u,"
           "\"replaced\":%u,\"anew\":%s}\n",
           (double)(begin - job->begin) / 1e9, what, also, (double)(healed - begin) / 1e6,
           (double)took / 1e6, job->lost - lost, job->nmembers - members, lives ? "false" : "true");
    fflush(stdout);
}

static void end_job(job_t *job)
{
    uint64_t until = weft_os_deadline(LATE_S);
    atomic_store(&job->board->stop, 1);
    while (serve(job) > 0) {
        if (weft_os_clock_ns() > until) {
            fail(job, "the job does not end");
        }
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    network_close(&job->network);
}

/* ---------------------------------------------------------------------------------------------- */

static int print_end(const job_t *job)
{
    printf("%u cuts, %u killed, %u stopped; %u members gave up, %u were replaced; "
           "%u jobs ended, %u of them by a cut of one host alone; %u brief cuts cost somebody; "
           "%llu steps, each number right; whole again at the latest %.1f s after a cut; longest "
           "step %.1f s\n",
           job->cuts, job->kills, job->stops, job->lost, job->nmembers - job->jobs * job->nranks,
           job->jobs - 1, job->alone, job->early,
           (unsigned long long)atomic_load(&job->board->steps), (double)job->healed_longest / 1e9,
           (double)job->step_longest / 1e9);
    return 0;
}

static _Noreturn void usage(const char *what, int code)
{
    fprintf(code == 0 ? stdout : stderr,
            "%susage: partitions [-v] [-c off|deaf|mute|apart] [-l LIMIT] SECONDS [RANKS [SEED]]\n"
            "3 to %d ranks, a limit of 1 to 60 s\n",
            what, HOSTS_MOST);
    exit(code);
}

static cut_t find_cut(const char *name)
{
    uint32_t cut = 0;
    while (cut < CUTS && strcmp(cut_names[cut], name) != 0) {
        cut++;
    }
    if (cut == CUTS) {
        usage("partitions: no such cut\n", 2);
    }
    return (cut_t)cut;
}

static void read_arguments(job_t *job, int argc, char **argv)
{
    int option;
    job->cut = CUTS;
    job->limit_s = 1;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        usage("", 0);
    }
    while ((option = getopt(argc, argv, "vc:l:")) != -1) {
        if (option == 'v') {
            job->verbose = true;
        } else if (option == 'c') {
            job->cut = find_cut(optarg);
        } else if (option == 'l') {
            job->limit_s = (unsigned)strtoul(optarg, NULL, 10);
        } else {
            usage("", 2);
        }
    }
    argc -= optind;
    argv += optind;
    job->seconds = argc > 0 ? strtod(argv[0], NULL) : 0;
    job->nranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 4;
    job->seed = job->draws = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : (unsigned)getpid();
    if (argc > 3 || !(job->seconds > 0) || job->nranks < 3 || job->nranks > HOSTS_MOST ||
        job->limit_s < 1 || job->limit_s > 60) {
        usage("", 2);
    }
}

int main(int argc, char **argv)
{
    static job_t job;
    read_arguments(&job, argc, argv);
    job.board =
        mmap(NULL, sizeof *job.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job.board == MAP_FAILED) {
        perror("partitions: mmap");
        return 1;
    }
    const char *lacks = network_open(&job.network, job.nranks);
    if (lacks != NULL) {
        printf("SKIPPED: %s\n", lacks);
        return EXIT_SKIPPED;
    }
    job.begin = weft_os_clock_ns();
    start_job(&job);
    if (!await_whole(&job, job.begin)) {
        fail(&job, "the job does not begin");
    }
    while ((double)(weft_os_clock_ns() - job.begin) < job.seconds * 1e9) {
        pass_cut(&job);
    }
    end_job(&job);
    return print_end(&job);
}
