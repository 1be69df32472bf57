/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that are kept for the next work, as starting one is slow where races are looked for. */
#include <stdlib.h>

#include "tests/cuda/fake.h"

typedef struct member {
    struct member *next; /* in the list of all */
    struct member *idle; /* in that of the idle */
    pthread_t thread;
    pthread_cond_t wake;
    void (*run)(void *arg); /* NULL: nothing to do */
    void *arg;
} member_t;

static struct {
    pthread_mutex_t lock;
    member_t *all, *idle;
    bool ends;
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *member_work(void *arg)
{
    member_t *m = arg;
    pthread_mutex_lock(&crew.lock);
    for (;;) {
        while (m->run == NULL && !crew.ends) {
            pthread_cond_wait(&m->wake, &crew.lock);
        }
        if (m->run == NULL) {
            break;
        }
        pthread_mutex_unlock(&crew.lock);
        m->run(m->arg);
        pthread_mutex_lock(&crew.lock);
        m->run = NULL;
        m->idle = crew.idle;
        crew.idle = m;
    }
    pthread_mutex_unlock(&crew.lock);
    return NULL;
}

void fake_crew_run(void (*run)(void *arg), void *arg)
{
    pthread_mutex_lock(&crew.lock);
    member_t *m = crew.idle;
    if (m != NULL) {
        crew.idle = m->idle;
        m->run = run;
        m->arg = arg;
        pthread_cond_signal(&m->wake);
        pthread_mutex_unlock(&crew.lock);
        return;
    }
    m = calloc(1, sizeof *m);
    m->run = run;
    m->arg = arg;
    m->next = crew.all;
    crew.all = m;
    pthread_cond_init(&m->wake, NULL);
    if (pthread_create(&m->thread, NULL, member_work, m) != 0) {
        abort(); /* those that wait for this one would wait for ever */
    }
    pthread_mutex_unlock(&crew.lock);
}

void fake_crew_end(void)
{
    pthread_mutex_lock(&crew.lock);
    crew.ends = true;
    for (member_t *m = crew.all; m != NULL; m = m->next) {
        pthread_cond_signal(&m->wake);
    }
    pthread_mutex_unlock(&crew.lock);
    while (crew.all != NULL) {
        member_t *m = crew.all;
        crew.all = m->next;
        pthread_join(m->thread, NULL);
        pthread_cond_destroy(&m->wake);
        free(m);
    }
}
