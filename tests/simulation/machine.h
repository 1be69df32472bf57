/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine of processes in one thread, on virtual time. Each process has an image of its own, with
 * its own variables, and calls the C library as always: the library's functions of this program
 * (calls_*.c) come before those of the system. Threads are coroutines. The one whose turn is first
 * runs until it asks for something; what happens in between is decided by a seed.
 *
 * Nothing here is thread-safe, and nothing needs to be. */
#ifndef WEFT_SIMULATION_MACHINE_H
#define WEFT_SIMULATION_MACHINE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

#include "image.h"

#define SIM_NEVER UINT64_MAX
#define SIM_US UINT64_C(1000)
#define SIM_MS UINT64_C(1000000)
#define SIM_S UINT64_C(1000000000)

enum { SIM_KEYS = 8, SIM_HOSTS = 8, SIM_FIRST_FD = 1 << 20, SIM_FILES_MOST = 512 };

typedef struct process process_t;
typedef struct object object_t; /* descriptor.h */

/* A word: the file and the offset there, or the process and the address. */
typedef struct futex_key {
    uint64_t place, word;
} futex_key_t;

typedef struct thread {
    struct thread *next; /* of its process */
    process_t *process;
    void *(*run)(void *);
    void *arg;
    ucontext_t context; /* it begins here, */
    jmp_buf place;      /* and goes on there */
    bool begun;
    void *stack, *tls;
    int number;          /* gettid */
    int error_number;    /* errno while it does not run */
    uint32_t generation; /* of its next turn: older ones are void */
    uint32_t files;    /* streams of the C library that are open: no other thread runs meanwhile */
    bool asleep, held; /* held: its turn came while the process was stopped */
    bool ended, woken;
    const char *where;             /* what it waits in */
    const futex_key_t *futex_keys; /* what it waits for, on its stack */
    uint32_t futex_count;
    struct thread *joiner;
    void *key[SIM_KEYS];
} thread_t;

typedef struct mapping {
    struct mapping *next;
    uint8_t *begin;
    size_t bytes;
    object_t *file; /* NULL: private */
    uint64_t offset;
} mapping_t;

struct process {
    process_t *next;
    image_t *image;
    int pid;
    uint32_t host, number; /* number: as the job counts */
    bool dead, stopped;
    int exit_code; /* of a process that ended by itself */
    thread_t *threads;
    mapping_t *mappings;
    object_t **files; /* by number − SIM_FIRST_FD */
    uint32_t files_room, files_open, files_most;
    void (*key_free[SIM_KEYS])(void *);
    uint32_t keys;
    uint64_t memory_from, memory_until; /* malloc fails now and then between these times */
    uint64_t started;
};

/* How often, in 1/65536, a call does the rare thing that it may do. */
typedef struct oddities {
    uint32_t interrupted, partial, spurious, preempted, refused;
} oddities_t;

typedef struct machine {
    uint64_t seed, now; /* ns of CLOCK_MONOTONIC */
    uint64_t random;
    oddities_t odd;
    uint64_t latency[SIM_HOSTS][SIM_HOSTS];
    bool cut[SIM_HOSTS][SIM_HOSTS]; /* from host to host: what is sent waits, */
    uint64_t patience;              /* and breaks its connection after this */
    thread_t *self;
    uint32_t apart; /* > 0: calls of the thread go to the system */
    process_t *processes;
    int pids;
    char folder[64]; /* in which ranks meet; "": there is none */
    bool names_all;  /* its file system has no files without a name */
    uint16_t port;   /* given out last */
    uint64_t trace;  /* hash of all that happened */
    uint32_t alive;  /* processes */
    uint64_t ended;  /* when the last one that ended did */
    uint64_t turns, calls;
    bool loud;
} machine_t;

extern machine_t machine;

/* The machine ---------------------------------------------------------------------------------- */

void machine_init(uint64_t seed, bool loud);
/* Runs until all processes have ended, nothing can happen any more, or `limit` is reached. */
void machine_run(uint64_t limit);
/* Ends all processes and forgets everything. */
void machine_fini(void);

/* True while simulated code runs: its calls are the machine's. */
static inline bool machine_inside(void)
{
    return machine.self != NULL && machine.apart == 0;
}

/* Has `happen` be called at that time. */
void machine_at(uint64_t at, void (*happen)(void *object), void *object);

/* Memory of the machine's own, zeroed; never NULL. */
void *machine_alloc(size_t bytes);
void machine_free(void *memory);

/* Random numbers of the run. */
uint64_t machine_random(void);
uint64_t machine_below(uint64_t bound);
/* True in `of_65536` of 65,536 cases. */
bool machine_odd(uint32_t of_65536);
/* A time between the two, small ones as often as large ones. */
uint64_t machine_between(uint64_t least, uint64_t most);

/* Notes that something happened. */
__attribute__((format(printf, 1, 2))) void machine_note(const char *format, ...);
/* Tells what a rank logs, which is nothing that happens: a run is the same however much is
 * logged. */
void machine_tell(const char *line, size_t bytes);

/* Processes and threads ------------------------------------------------------------------------ */

/* Starts a process at that time. It ends when `run` returns. */
process_t *process_start(image_t *image, uint32_t host, uint32_t number, void *(*run)(void *),
                         void *arg, uint64_t at);
/* As SIGKILL. Its peers find ended connections, or, with `silent`, nothing. */
void process_kill(process_t *process, bool silent);
void process_stop(process_t *process);
void process_go_on(process_t *process);
process_t *process_find(int pid);
/* Who is inside what: for a run that does not end. */
void process_print_all(void);

thread_t *thread_create(process_t *process, void *(*run)(void *), void *arg, uint64_t at);
void thread_join(thread_t *thread);
_Noreturn void thread_exit(void);

/* The running thread asks the machine for something: others may have their turn first. */
void thread_call(const char *where);
/* The running thread sleeps until then, or until thread_wake(). True: it was woken. */
bool thread_sleep(const char *where, uint64_t until);
void thread_wake(thread_t *thread, uint64_t at);
/* Wakes all threads of the process that sleep in poll() or epoll_wait(). */
void process_wake_pollers(process_t *process, uint64_t at);

/* Words of one call at most. */
#define SIM_FUTEXES 128

typedef struct futex_word {
    const uint32_t *word;
    uint32_t seen;
} futex_word_t;

int futex_wait(const futex_word_t *words, uint32_t count, uint64_t timeout_ns);
int futex_wake(const uint32_t *word);

#endif
