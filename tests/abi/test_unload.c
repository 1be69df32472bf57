/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that opens a library of ours, uses it in a thread, and closes it before the thread
 * ends. */
#include <dlfcn.h>
#include <pthread.h>
#include <weft/weft.h>

#include "tests/support/unit.h"

typedef struct visit {
    const char *file;
    int (*use)(void *library); /* returns how many calls were wrong */
    void *library;
    pthread_barrier_t meeting;
} visit_t;

/* Uses the library, and lives longer than it is open. */
static void *visit_run(void *arg)
{
    visit_t *visit = arg;
    const int wrong = visit->use(visit->library);
    pthread_barrier_wait(&visit->meeting);
    pthread_barrier_wait(&visit->meeting);
    return wrong == 0 ? arg : NULL;
}

static void visit_once(visit_t *visit)
{
    pthread_t thread;
    void *result = NULL;
    visit->library = dlopen(visit->file, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(visit->library);
    assert_int_equal(pthread_barrier_init(&visit->meeting, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, visit_run, visit), 0);
    pthread_barrier_wait(&visit->meeting);
    assert_int_equal(dlclose(visit->library), 0);
    pthread_barrier_wait(&visit->meeting);
    pthread_join(thread, &result);
    assert_ptr_equal(result, visit);
    pthread_barrier_destroy(&visit->meeting);
}

static void visit_twice(const char *file, int (*use)(void *library))
{
    visit_t visit = {.file = file, .use = use};
    visit_once(&visit);
    visit_once(&visit);
}

typedef weft_status_t (*create_fn_t)(weft_unique_id_t *, const weft_comm_options_t *);
typedef weft_status_t (*init_fn_t)(weft_comm_t **, uint32_t, const weft_unique_id_t *, uint32_t,
                                   const weft_comm_options_t *);
typedef weft_status_t (*group_fn_t)(void);
typedef weft_status_t (*destroy_fn_t)(weft_comm_t *);

#define FIND(library, type, name) ((type)(uintptr_t)dlsym(library, name))

static int use_weft(void *library)
{
    const create_fn_t create = FIND(library, create_fn_t, "weft_unique_id_create");
    const init_fn_t init = FIND(library, init_fn_t, "weft_comm_init_rank");
    const group_fn_t start = FIND(library, group_fn_t, "weft_group_start");
    const group_fn_t end = FIND(library, group_fn_t, "weft_group_end");
    const destroy_fn_t destroy = FIND(library, destroy_fn_t, "weft_comm_destroy");
    weft_unique_id_t id;
    weft_comm_t *comm = NULL;
    return create(&id, NULL) != WEFT_OK || init(&comm, 1, &id, 0, NULL) != WEFT_OK ||
           start() != WEFT_OK || end() != WEFT_OK || destroy(comm) != WEFT_OK;
}

static void libweft_may_be_closed_before_a_thread_ends(void **state)
{
    (void)state;
    visit_twice(WEFT_LIBRARY, use_weft);
}

#ifdef NCCL_LIBRARY
typedef int (*nccl_group_fn_t)(void);

static int use_nccl(void *library)
{
    const nccl_group_fn_t start = FIND(library, nccl_group_fn_t, "ncclGroupStart");
    const nccl_group_fn_t end = FIND(library, nccl_group_fn_t, "ncclGroupEnd");
    return start() != 0 || end() != 0;
}

static void libnccl_may_be_closed_before_a_thread_ends(void **state)
{
    (void)state;
    visit_twice(NCCL_LIBRARY, use_nccl);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libweft_may_be_closed_before_a_thread_ends),
#ifdef NCCL_LIBRARY
        cmocka_unit_test(libnccl_may_be_closed_before_a_thread_ends),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
