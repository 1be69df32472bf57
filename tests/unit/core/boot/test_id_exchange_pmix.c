/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMIx libraries that are right, old, silent and wrong: functions of this test in place of those of
 * libpmix.so.2. Where pmix.h is installed, the layouts are compared with it. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/id_exchange_pmix.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"
#ifdef WEFT_TEST_PMIX_H
#include <pmix.h>

#include "tests/support/unit.h"
#endif

/* How the library behaves; zeros are one that is right, for rank 1 of 2. */
static struct {
    const char *version;
    int init, put, commit, fence, get, count;
    bool no_value, no_bytes; /* of a call that says it has them */
    bool silent;             /* fences do not end */
    bool at_once;
    uint32_t rank, size;
    uint16_t type, count_type;
    size_t bytes;
    uint32_t open;
    int exit_code; /* not 0: that of the process that closes the library */
    uint8_t stored[WEFT_UNIQUE_ID_BYTES];
    char key[64];
    void (*end_fence)(int status, void *arg); /* the fence that did not end */
    void *fence_arg;
} lib;

static const char *fake_version(void)
{
    return lib.version;
}

static const char *fake_error_text(int status)
{
    return status == -1 ? "ERROR" : "SUCCESS";
}

static int fake_init(weft_pmix_proc_t *self, weft_pmix_info_t *info, size_t ninfo)
{
    (void)info;
    (void)ninfo;
    *self = (weft_pmix_proc_t){.space = "job", .rank = lib.rank};
    lib.open += lib.init == 0;
    return lib.init;
}

static int take_back(weft_pmix_value_t **value_p, int code)
{
    free(*value_p);
    *value_p = NULL;
    return code;
}

static int fake_get(const weft_pmix_proc_t *of, const char *key, const weft_pmix_info_t *info,
                    size_t ninfo, weft_pmix_value_t **value_p)
{
    (void)info;
    (void)ninfo;
    weft_pmix_value_t *value = calloc(1, sizeof *value);
    assert_string_equal(of->space, "job");
    *value_p = value;
    if (strcmp(key, WEFT_PMIX_JOB_SIZE) == 0) {
        assert_int_equal(of->rank, WEFT_PMIX_ANY_RANK);
        value->type = lib.count_type;
        value->data.uint32 = lib.size;
        return lib.count == 0 ? WEFT_PMIX_SUCCESS : take_back(value_p, lib.count);
    }
    assert_int_equal(of->rank, 0);
    if (lib.get != 0 || lib.no_value) {
        return take_back(value_p, lib.get);
    }
    value->type = lib.type;
    value->data.bytes.size = lib.bytes;
    if (lib.type == WEFT_PMIX_BYTES && !lib.no_bytes) {
        value->data.bytes.bytes = calloc(1, lib.bytes + 1);
        memset(value->data.bytes.bytes, 0x5a, lib.bytes);
    }
    return WEFT_PMIX_SUCCESS;
}

static int fake_put(uint8_t scope, const char *key, weft_pmix_value_t *value)
{
    assert_int_equal(scope, WEFT_PMIX_GLOBAL);
    assert_int_equal(value->type, WEFT_PMIX_BYTES);
    assert_int_equal(value->data.bytes.size, sizeof lib.stored);
    assert_string_not_equal(key, lib.key); /* of the exchange before */
    strncpy(lib.key, key, sizeof lib.key - 1);
    memcpy(lib.stored, value->data.bytes.bytes, sizeof lib.stored);
    return lib.put;
}

static int fake_commit(void)
{
    return lib.commit;
}

static int fake_fence(const weft_pmix_proc_t *procs, size_t nprocs, const weft_pmix_info_t *info,
                      size_t ninfo, void (*done)(int status, void *arg), void *arg)
{
    assert_null(procs);
    assert_int_equal(nprocs, 0);
    assert_int_equal(ninfo, 1);
    assert_string_equal(info->key, WEFT_PMIX_COLLECT);
    if (lib.at_once) {
        return WEFT_PMIX_DONE_AT_ONCE;
    }
    lib.end_fence = done;
    lib.fence_arg = arg;
    if (!lib.silent) {
        done(lib.fence, arg);
    }
    return WEFT_PMIX_SUCCESS;
}

static int fake_finalize(const weft_pmix_info_t *info, size_t ninfo)
{
    (void)info;
    (void)ninfo;
    lib.open--;
    if (lib.open == 0 && lib.exit_code != 0) {
        _exit(lib.exit_code);
    }
    return WEFT_PMIX_SUCCESS;
}

static const weft_pmix_t functions = {.version = fake_version,
                                      .error_text = fake_error_text,
                                      .init = fake_init,
                                      .get = fake_get,
                                      .put = fake_put,
                                      .commit = fake_commit,
                                      .fence = fake_fence,
                                      .finalize = fake_finalize};

static int start_right(void **unused)
{
    (void)unused;
    memset(&lib, 0, sizeof lib);
    lib.version = "OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2)";
    lib.rank = 1;
    lib.size = 2;
    lib.type = WEFT_PMIX_BYTES;
    lib.count_type = WEFT_PMIX_UINT32;
    lib.bytes = WEFT_UNIQUE_ID_BYTES;
    return 0;
}

static weft_status_t carry(uint32_t rank, double seconds, weft_unique_id_t *id)
{
    weft_boot_settings_t settings = {.init_timeout = seconds};
    weft_launcher_t launcher = {
        .size = sizeof launcher, .name = "openmpi", .rank = rank, .nranks = 2};
    weft_id_exchange_job_t job = {
        .launcher = &launcher, .settings = &settings, .until = weft_os_deadline(seconds)};
    return weft_pmix_carry(&functions, &job, id);
}

/* A failure with this status and text; the library is closed and the id as it was. */
static void expect(weft_status_t wanted, const char *says)
{
    weft_unique_id_t id, before;
    memset(&id, 3, sizeof id);
    before = id;
    weft_status_t status = carry(1, 5, &id);
    if (status != wanted || strstr(weft_error_record()->text, says) == NULL) {
        fail_msg("%s: %s", weft_status_name(status), weft_error_record()->text);
    }
    assert_memory_equal(&id, &before, sizeof id);
    assert_int_equal(lib.open, 0);
}

static void an_id_goes_through_a_library_that_is_right(void **unused)
{
    weft_unique_id_t id, wanted;
    (void)unused;
    memset(&wanted, 0x5a, sizeof wanted);
    assert_int_equal(carry(1, 5, &id), WEFT_OK);
    assert_memory_equal(&id, &wanted, sizeof id);
    lib.at_once = true;
    assert_int_equal(carry(1, 5, &id), WEFT_OK);
    lib.rank = 0;
    for (uint8_t i = 0; i < 3; i++) {
        memset(&id, i, sizeof id);
        assert_int_equal(carry(0, 5, &id), WEFT_OK);
        assert_memory_equal(lib.stored, id.bytes, sizeof lib.stored);
    }
    assert_int_equal(lib.open, 0);
}

static void unknown_versions_are_refused_by_name(void **unused)
{
    static const char *const refused[] = {"PMIx 1.2.5", "OpenPMIx 7.0.0", "", "unknown"};
    (void)unused;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        lib.version = refused[i];
        expect(WEFT_ERR_UNSUPPORTED, refused[i]);
    }
    assert_true(weft_pmix_version_is_known("PMIx 2.1.4"));
    assert_true(weft_pmix_version_is_known("OpenPMIx 5.0.1 (PMIx Standard: 5.0)"));
}

static void what_fails_is_named_with_the_launcher(void **unused)
{
    (void)unused;
    lib.init = -1;
    expect(WEFT_ERR_LINK, "the PMIx server of openmpi: PMIx_Init: ERROR (-1)");
    start_right(NULL);
    lib.fence = -1;
    expect(WEFT_ERR_PROTO, "PMIx_Fence: ERROR (-1)");
    start_right(NULL);
    lib.get = -1;
    expect(WEFT_ERR_PROTO, "PMIx_Get of the id of rank 0: ERROR (-1)");
    start_right(NULL);
    lib.no_value = true;
    expect(WEFT_ERR_PROTO, "PMIx_Get of the id of rank 0: SUCCESS (0)");
    start_right(NULL);
    lib.count = -1;
    expect(WEFT_ERR_PROTO, "PMIx_Get of the number of ranks: ERROR (-1)");
}

static void what_rank_0_cannot_give_is_named(void **unused)
{
    (void)unused;
    weft_unique_id_t id = {{0}};
    lib.rank = 0;
    lib.put = -1;
    assert_int_equal(carry(0, 5, &id), WEFT_ERR_PROTO);
    assert_non_null(strstr(weft_error_record()->text, "PMIx_Put: ERROR (-1)"));
    lib.put = 0;
    lib.commit = -1;
    assert_int_equal(carry(0, 5, &id), WEFT_ERR_PROTO);
    assert_non_null(strstr(weft_error_record()->text, "PMIx_Commit: ERROR (-1)"));
    assert_int_equal(lib.open, 0);
}

static void values_that_are_no_id_are_refused(void **unused)
{
    static const size_t lengths[] = {0, 1, WEFT_UNIQUE_ID_BYTES - 1, WEFT_UNIQUE_ID_BYTES + 1,
                                     1 << 20};
    (void)unused;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        lib.bytes = lengths[i];
        expect(WEFT_ERR_PROTO, "a unique id is of type 27 and has 128");
    }
    lib.bytes = WEFT_UNIQUE_ID_BYTES;
    lib.no_bytes = true;
    expect(WEFT_ERR_PROTO, "gave a value of type 27 and 0 bytes");
    lib.type = WEFT_PMIX_UINT32;
    expect(WEFT_ERR_PROTO, "gave a value of type 14 and 0 bytes");
}

static void other_ranks_than_the_launchers_are_refused(void **unused)
{
    (void)unused;
    lib.size = 3;
    expect(WEFT_ERR_CONFIG, "PMIx says rank 1 of 3, the variables of openmpi say rank 1 of 2");
    lib.size = 2;
    lib.rank = 0;
    expect(WEFT_ERR_CONFIG, "PMIx says rank 0 of 2");
    lib.count_type = WEFT_PMIX_INT;
    expect(WEFT_ERR_CONFIG, "PMIx says rank 0 of 0");
}

/* Version 5 is closed once, when the process ends: the parent of this one sees that it was. */
static void version_5_stays_open_until_the_process_ends(void **unused)
{
    int state = 0;
    (void)unused;
    lib.version = "PMIx 5.0.11rc1, repo rev: v5.0.11";
    pid_t child = fork();
    if (child == 0) {
        weft_unique_id_t id;
        bool right = carry(1, 5, &id) == WEFT_OK && lib.open == 1;
        right = right && carry(1, 5, &id) == WEFT_OK && lib.open == 1;
        lib.exit_code = right ? 3 : 4;
        exit(5); /* unless the function that closes it ends the process before */
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_true(WIFEXITED(state));
    assert_int_equal(WEXITSTATUS(state), 3);
}

/* The library keeps a fence that was given up, and no other exchange may begin until it has
 * ended. */
static void expect_stuck_until_the_fence_ends(void)
{
    weft_unique_id_t id;
    assert_int_equal(lib.open, 1);
    assert_int_equal(carry(1, 0.2, &id), WEFT_ERR_STATE);
    lib.silent = false;
    lib.end_fence(0, lib.fence_arg);
    assert_int_equal(carry(1, 5, &id), WEFT_OK);
    assert_int_equal(lib.open, 0);
}

static void a_fence_that_does_not_end_has_a_deadline(void **unused)
{
    weft_unique_id_t id;
    (void)unused;
    lib.silent = true;
    uint64_t start = weft_os_clock_ns();
    assert_int_equal(carry(1, 0.2, &id), WEFT_ERR_TIMEOUT);
    assert_non_null(strstr(weft_error_record()->text, "not all 2 ranks came"));
    assert_true(weft_os_clock_ns() - start < 10 * WEFT_NS_PER_S);
    expect_stuck_until_the_fence_ends();
}

static void a_fence_is_cancelled(void **unused)
{
    weft_unique_id_t id;
    int ends[2];
    (void)unused;
    lib.silent = true;
    assert_int_equal(pipe(ends), 0);
    weft_os_cancel_by(ends[0]);
    close(ends[1]);
    uint64_t start = weft_os_clock_ns();
    assert_int_equal(carry(1, 30, &id), WEFT_ERR_ABORTED);
    assert_non_null(strstr(weft_error_record()->text, "cancelled"));
    assert_true(weft_os_clock_ns() - start < 10 * WEFT_NS_PER_S);
    weft_os_cancel_by(-1);
    close(ends[0]);
    expect_stuck_until_the_fence_ends();
}

static void layouts_and_numbers_are_those_of_the_header(void **unused)
{
    (void)unused;
#ifdef WEFT_TEST_PMIX_H
    assert_int_equal(sizeof(weft_pmix_proc_t), sizeof(pmix_proc_t));
    assert_int_equal(offsetof(weft_pmix_proc_t, rank), offsetof(pmix_proc_t, rank));
    assert_int_equal(sizeof(weft_pmix_value_t), sizeof(pmix_value_t));
    assert_int_equal(offsetof(weft_pmix_value_t, data), offsetof(pmix_value_t, data));
    assert_int_equal(sizeof(weft_pmix_bytes_t), sizeof(pmix_byte_object_t));
    assert_int_equal(sizeof(weft_pmix_info_t), sizeof(pmix_info_t));
    assert_int_equal(offsetof(weft_pmix_info_t, flags), offsetof(pmix_info_t, flags));
    assert_int_equal(offsetof(weft_pmix_info_t, value), offsetof(pmix_info_t, value));
    assert_int_equal(WEFT_PMIX_SUCCESS, PMIX_SUCCESS);
    assert_int_equal(WEFT_PMIX_DONE_AT_ONCE, PMIX_OPERATION_SUCCEEDED);
    assert_int_equal(WEFT_PMIX_BOOL, PMIX_BOOL);
    assert_int_equal(WEFT_PMIX_INT, PMIX_INT);
    assert_int_equal(WEFT_PMIX_UINT32, PMIX_UINT32);
    assert_int_equal(WEFT_PMIX_BYTES, PMIX_BYTE_OBJECT);
    assert_int_equal(WEFT_PMIX_GLOBAL, PMIX_GLOBAL);
    assert_true(WEFT_PMIX_ANY_RANK == PMIX_RANK_WILDCARD);
    assert_string_equal(WEFT_PMIX_JOB_SIZE, PMIX_JOB_SIZE);
    assert_string_equal(WEFT_PMIX_COLLECT, PMIX_COLLECT_DATA);
    assert_string_equal(WEFT_PMIX_TIMEOUT, PMIX_TIMEOUT);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(layouts_and_numbers_are_those_of_the_header, start_right),
        cmocka_unit_test_setup(an_id_goes_through_a_library_that_is_right, start_right),
        cmocka_unit_test_setup(unknown_versions_are_refused_by_name, start_right),
        cmocka_unit_test_setup(what_fails_is_named_with_the_launcher, start_right),
        cmocka_unit_test_setup(what_rank_0_cannot_give_is_named, start_right),
        cmocka_unit_test_setup(values_that_are_no_id_are_refused, start_right),
        cmocka_unit_test_setup(other_ranks_than_the_launchers_are_refused, start_right),
        cmocka_unit_test_setup(version_5_stays_open_until_the_process_ends, start_right),
        cmocka_unit_test_setup(a_fence_that_does_not_end_has_a_deadline, start_right),
        cmocka_unit_test_setup(a_fence_is_cancelled, start_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
