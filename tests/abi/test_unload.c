/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that unloads the library: nothing of it is called later. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef int (*group_fn_t)(void);

typedef struct visit {
    void *library;
    pthread_barrier_t *meeting;
} visit_t;

/* Opens and ends a group, and lives longer than the library. */
static void *visit_run(void *arg)
{
    const visit_t *visit = arg;
    const group_fn_t start = (group_fn_t)(uintptr_t)dlsym(visit->library, "weft_group_start");
    const group_fn_t end = (group_fn_t)(uintptr_t)dlsym(visit->library, "weft_group_end");
    const int wrong = start == NULL || end == NULL || start() != 0 || end() != 0;
    pthread_barrier_wait(visit->meeting);
    pthread_barrier_wait(visit->meeting);
    return wrong == 0 ? arg : NULL;
}

static void a_thread_may_end_after_the_library(void **state)
{
    (void)state;
    pthread_barrier_t meeting;
    pthread_t thread;
    void *result = NULL;
    visit_t visit = {.library = dlopen(WEFT_LIBRARY, RTLD_NOW | RTLD_LOCAL), .meeting = &meeting};
    assert_non_null(visit.library);
    assert_int_equal(pthread_barrier_init(&meeting, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, visit_run, &visit), 0);
    pthread_barrier_wait(&meeting);
    assert_int_equal(dlclose(visit.library), 0);
    assert_null(dlopen(WEFT_LIBRARY, RTLD_NOW | RTLD_NOLOAD));
    pthread_barrier_wait(&meeting);
    pthread_join(thread, &result);
    assert_ptr_equal(result, &visit);
    pthread_barrier_destroy(&meeting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_thread_may_end_after_the_library)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
