/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See crew.h. */
#include "tests/device/crew.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct member {
    crew_t *crew;
    struct member *next; /* in the list of all, and in that of the idle */
    struct member *idle;
    weft_host_thread_t *thread;
    pthread_cond_t wake;
    crew_work_t work;
    uint32_t number;
    bool leave;
} member_t;

struct crew {
    const weft_host_t *host;
    pthread_mutex_t lock;
    member_t *all, *idle;
    uint32_t nidle;
};

/* The next piece of work; false: the crew ends. */
static bool wait_for_work(member_t *m, crew_work_t *work, uint32_t *number)
{
    pthread_mutex_lock(&m->crew->lock);
    while (m->work.run == NULL && !m->leave) {
        pthread_cond_wait(&m->wake, &m->crew->lock);
    }
    *work = m->work;
    *number = m->number;
    pthread_mutex_unlock(&m->crew->lock);
    return work->run != NULL;
}

static void member_run(void *arg)
{
    member_t *m = arg;
    crew_work_t work;
    uint32_t number;
    while (wait_for_work(m, &work, &number)) {
        work.run(work.arg, number);
        pthread_mutex_lock(&m->crew->lock);
        m->work.run = NULL;
        m->idle = m->crew->idle;
        m->crew->idle = m;
        m->crew->nidle++;
        pthread_mutex_unlock(&m->crew->lock);
    }
}

crew_t *crew_create(const weft_host_t *host)
{
    crew_t *crew = host->alloc(host, sizeof *crew, 0);
    if (crew != NULL) {
        crew->host = host;
        pthread_mutex_init(&crew->lock, NULL);
    }
    return crew;
}

static weft_status_t crew_grow(crew_t *crew)
{
    member_t *m = crew->host->alloc(crew->host, sizeof *m, 0);
    if (m == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    m->crew = crew;
    pthread_cond_init(&m->wake, NULL);
    weft_status_t status =
        crew->host->thread_start(crew->host, "weft-lane", member_run, m, &m->thread);
    if (status != WEFT_OK) {
        pthread_cond_destroy(&m->wake);
        crew->host->free(crew->host, m);
        return status;
    }
    pthread_mutex_lock(&crew->lock);
    m->next = crew->all;
    crew->all = m;
    m->idle = crew->idle;
    crew->idle = m;
    crew->nidle++;
    pthread_mutex_unlock(&crew->lock);
    return WEFT_OK;
}

static uint32_t idle_members(crew_t *crew)
{
    pthread_mutex_lock(&crew->lock);
    uint32_t n = crew->nidle;
    pthread_mutex_unlock(&crew->lock);
    return n;
}

weft_status_t crew_start(crew_t *crew, const crew_work_t *work, uint32_t n)
{
    /* Only this thread takes idle members away, so they stay enough. */
    while (idle_members(crew) < n) {
        weft_status_t status = crew_grow(crew);
        if (status != WEFT_OK) {
            return status;
        }
    }
    pthread_mutex_lock(&crew->lock);
    for (uint32_t i = 0; i < n; i++) {
        member_t *m = crew->idle;
        crew->idle = m->idle;
        crew->nidle--;
        m->work = *work;
        m->number = i;
        pthread_cond_signal(&m->wake);
    }
    pthread_mutex_unlock(&crew->lock);
    return WEFT_OK;
}

void crew_destroy(crew_t *crew)
{
    if (crew == NULL) {
        return;
    }
    pthread_mutex_lock(&crew->lock);
    for (member_t *m = crew->all; m != NULL; m = m->next) {
        m->leave = true;
        pthread_cond_signal(&m->wake);
    }
    pthread_mutex_unlock(&crew->lock);
    while (crew->all != NULL) {
        member_t *m = crew->all;
        crew->all = m->next;
        crew->host->thread_join(crew->host, m->thread);
        pthread_cond_destroy(&m->wake);
        crew->host->free(crew->host, m);
    }
    pthread_mutex_destroy(&crew->lock);
    crew->host->free(crew->host, crew);
}
