/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMIx 5 in a program with an MPI library that has yet to begin: a process of weft's own speaks.
 * This program exports the questions that are asked of MPI, so it has an MPI library. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/error.h"
#include "core/boot/id_exchange_pmix.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

/* A library that is right, for rank 1 of 2. Its functions are called in a child, where cmocka could
 * tell nobody. */
static struct {
    const char *version;
    uint32_t opened, size; /* opened: in this process */
    bool silent;
    int exit_code; /* not 0: the process ends in PMIx_Init */
} lib;

static int mpi_has_begun;

int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag);

__attribute__((visibility("default"))) int MPI_Initialized(int *flag)
{
    *flag = mpi_has_begun;
    return 0;
}

__attribute__((visibility("default"))) int MPI_Finalized(int *flag)
{
    *flag = 0;
    return 0;
}

static const char *fake_version(void)
{
    return lib.version;
}

static const char *fake_error_text(int status)
{
    return status == 0 ? "SUCCESS" : "ERROR";
}

static int fake_init(weft_pmix_proc_t *self, weft_pmix_info_t *info, size_t ninfo)
{
    (void)info;
    (void)ninfo;
    if (lib.exit_code != 0) {
        _Exit(lib.exit_code);
    }
    lib.opened++;
    *self = (weft_pmix_proc_t){.space = "job", .rank = 1};
    return WEFT_PMIX_SUCCESS;
}

static int fake_get(const weft_pmix_proc_t *of, const char *key, const weft_pmix_info_t *info,
                    size_t ninfo, weft_pmix_value_t **value_p)
{
    (void)of;
    (void)info;
    (void)ninfo;
    weft_pmix_value_t *value = calloc(1, sizeof *value);
    *value_p = value;
    if (strcmp(key, WEFT_PMIX_JOB_SIZE) == 0) {
        value->type = WEFT_PMIX_UINT32;
        value->data.uint32 = lib.size;
        return WEFT_PMIX_SUCCESS;
    }
    value->type = WEFT_PMIX_BYTES;
    value->data.bytes.size = WEFT_UNIQUE_ID_BYTES;
    value->data.bytes.bytes = calloc(1, WEFT_UNIQUE_ID_BYTES);
    memset(value->data.bytes.bytes, 0x5a, WEFT_UNIQUE_ID_BYTES);
    return WEFT_PMIX_SUCCESS;
}

static int fake_fence(const weft_pmix_proc_t *procs, size_t nprocs, const weft_pmix_info_t *info,
                      size_t ninfo, void (*done)(int status, void *arg), void *arg)
{
    (void)procs;
    (void)nprocs;
    (void)info;
    (void)ninfo;
    if (!lib.silent) {
        done(0, arg);
    }
    return WEFT_PMIX_SUCCESS;
}

static int fake_finalize(const weft_pmix_info_t *info, size_t ninfo)
{
    (void)info;
    (void)ninfo;
    return WEFT_PMIX_SUCCESS;
}

static const weft_pmix_t functions = {.version = fake_version,
                                      .error_text = fake_error_text,
                                      .init = fake_init,
                                      .get = fake_get,
                                      .fence = fake_fence,
                                      .finalize = fake_finalize};

static int start(void **unused)
{
    (void)unused;
    memset(&lib, 0, sizeof lib);
    lib.version = "OpenPMIx 5.0.3";
    lib.size = 2;
    mpi_has_begun = 0;
    return 0;
}

static weft_status_t carry(double seconds, weft_unique_id_t *id)
{
    const weft_launcher_t launcher = {.name = "openmpi", .rank = 1, .nranks = 2};
    const weft_id_exchange_job_t job = {.launcher = &launcher, .until = weft_os_deadline(seconds)};
    memset(id, 0, sizeof *id);
    return weft_pmix_carry(&functions, &job, id);
}

static void the_id_comes_and_nothing_was_opened_here(void **unused)
{
    (void)unused;
    weft_unique_id_t id;
    uint8_t wanted[WEFT_UNIQUE_ID_BYTES];
    memset(wanted, 0x5a, sizeof wanted);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(carry(30, &id), WEFT_OK);
        assert_memory_equal(id.bytes, wanted, sizeof wanted);
    }
    assert_int_equal(lib.opened, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
}

static void where_mpi_has_begun_or_pmix_is_older_this_process_speaks(void **unused)
{
    (void)unused;
    weft_unique_id_t id;
    lib.version = "OpenPMIx 4.2.9";
    assert_int_equal(carry(30, &id), WEFT_OK);
    assert_int_equal(lib.opened, 1);
    lib.version = "OpenPMIx 5.0.3";
    mpi_has_begun = 1;
    assert_int_equal(carry(30, &id), WEFT_OK);
    assert_int_equal(lib.opened, 2);
}

static void what_fails_there_is_told_here(void **unused)
{
    (void)unused;
    weft_unique_id_t id;
    lib.size = 3;
    assert_int_equal(carry(30, &id), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "PMIx says rank 1 of 3"));
    lib.size = 2;
    lib.exit_code = 9;
    assert_int_equal(carry(30, &id), WEFT_ERR_SYSTEM);
    assert_non_null(strstr(weft_error_record()->text, "exit code 9"));
    lib.exit_code = 0;
    lib.silent = true;
    assert_int_equal(carry(0.1, &id), WEFT_ERR_TIMEOUT);
    assert_non_null(strstr(weft_error_record()->text, "not all 2 ranks came to it"));
    lib.silent = false;
    assert_int_equal(carry(30, &id), WEFT_OK); /* what was stuck is gone with its process */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_id_comes_and_nothing_was_opened_here, start),
        cmocka_unit_test_setup(where_mpi_has_begun_or_pmix_is_older_this_process_speaks, start),
        cmocka_unit_test_setup(what_fails_there_is_told_here, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
