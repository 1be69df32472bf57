/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two copies of the library in one process, as of a program that is linked to one and loads a
 * package with another: each calls its own functions. */
#include <dlfcn.h>
#include <stdlib.h>
#include <weft/weft.h>

#include "../support/unit.h"

/* Functions of the second copy; those of the first, which the program is linked to, come first for
 * all. */
static void *copies_function(const char *name)
{
    void *second = dlopen(WEFT_LIBRARY_COPY, RTLD_NOW | RTLD_LOCAL);
    if (second == NULL) {
        fail_msg("%s", dlerror());
    }
    void *function = dlsym(second, name);
    assert_non_null(function);
    assert_ptr_not_equal(function, dlsym(RTLD_DEFAULT, name));
    return function;
}

static void a_copy_calls_its_own_functions(void **state)
{
    (void)state;
    assert_non_null(weft_version()); /* keeps the linker from leaving the library out */
    __typeof__(weft_comm_init_launcher) *init = copies_function("weft_comm_init_launcher");
    __typeof__(weft_all_reduce) *all_reduce = copies_function("weft_all_reduce");
    __typeof__(weft_comm_destroy) *destroy = copies_function("weft_comm_destroy");
    weft_comm_t *comm = NULL;
    float sum = 3;
    assert_int_equal(init(&comm, NULL), WEFT_OK);
    assert_int_equal(all_reduce(&sum, &sum, 1, WEFT_FP32, WEFT_SUM, comm, NULL), WEFT_OK);
    assert_true(sum == 3);
    assert_int_equal(destroy(comm), WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_copy_calls_its_own_functions)};
    setenv("WEFT_CORE_PLUGIN_DIR", WEFT_PLUGIN_DIR, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
