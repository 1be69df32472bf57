/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library says of itself, wrong arguments, configs of all sizes, and refused functions.
 * The process has no CUDA, so communicators are for memory of the host. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"
#include "bindings/nccl/refused.h"
#include "tests/bindings/nccl/single.h"
#include "tests/support/unit.h"

static ncclComm_t single; /* one rank */

static int begin_single(void **state)
{
    (void)state;
    single = make_single();
    return 0;
}

static int end_single(void **state)
{
    (void)state;
    return ncclCommDestroy(single) != ncclSuccess;
}

static void refused(ncclResult_t result, ncclResult_t want, const char *words)
{
    assert_int_equal(result, want);
    assert_says(ncclGetLastError(NULL), words);
}

static void version_and_texts(void **state)
{
    int version = 0;
    (void)state;
    assert_int_equal(ncclGetVersion(&version), ncclSuccess);
    assert_int_equal(version, NCCL_VERSION_CODE);
    assert_int_equal(ncclGetVersion(NULL), ncclInvalidArgument);
    for (unsigned i = 0; i < ncclNumResults; i++) {
        const char *text = ncclGetErrorString((ncclResult_t)i);
        assert_non_null(text);
        assert_string_not_equal(text, ncclGetErrorString(ncclNumResults));
    }
    ncclResetDebugInit();
}

static void host_memory_without_cuda(void **state)
{
    float value[2] = {3, 4}, factor = 5;
    void *memory = NULL, *handle = NULL;
    ncclRedOp_t op;
    (void)state;
    assert_int_equal(ncclAllReduce(value, value, 2, ncclFloat32, ncclSum, single, NULL),
                     ncclSuccess);
    assert_int_equal(
        ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, single),
        ncclSuccess);
    assert_int_equal(ncclAllReduce(value, value, 2, ncclFloat32, op, single, NULL), ncclSuccess);
    assert_true(value[0] == 15 && value[1] == 20);
    assert_int_equal(ncclMemAlloc(&memory, 100), ncclSuccess);
    assert_int_equal(ncclCommRegister(single, memory, 100, &handle), ncclSuccess);
    assert_int_equal(ncclCommDeregister(single, handle), ncclSuccess);
    assert_int_equal(ncclMemFree(memory), ncclSuccess);
}

static void wrong_arguments_of_calls(void **state)
{
    char byte = 0;
    int number;
    (void)state;
    refused(ncclAllReduce(&byte, &byte, 1, ncclInt8, ncclSum, NULL, NULL), ncclInvalidArgument,
            "ncclAllReduce: comm is NULL");
    refused(ncclAllReduce(&byte, &byte, 1, ncclNumTypes, ncclSum, single, NULL),
            ncclInvalidArgument, "no data type 12");
    refused(ncclAllReduce(&byte, &byte, 1, ncclInt8, ncclNumOps + 8, single, NULL),
            ncclInvalidArgument, "no operator 13");
    refused(ncclReduce(&byte, &byte, 1, ncclInt8, (ncclRedOp_t)-1, 0, single, NULL),
            ncclInvalidArgument, "no operator -1");
    refused(ncclBroadcast(&byte, &byte, 1, ncclInt8, 1, single, NULL), ncclInvalidArgument,
            "ncclBroadcast: no rank 1, there are 0 to 0");
    refused(ncclSend(&byte, 1, ncclInt8, -1, single, NULL), ncclInvalidArgument, "no rank -1");
    refused(ncclAllReduce(NULL, &byte, 1, ncclInt8, ncclSum, single, NULL), ncclInvalidArgument,
            "ncclAllReduce: ERR_ARG");
    refused(ncclCommCount(single, NULL), ncclInvalidArgument, "NULL");
    refused(ncclCommUserRank(NULL, &number), ncclInvalidArgument, "comm is NULL");
    refused(ncclCommGetAsyncError(single, NULL), ncclInvalidArgument, "asyncError is NULL");
    refused(ncclRedOpDestroy(ncclSum, single), ncclInvalidArgument, "0 is no operator");
    refused(ncclCommRegister(single, NULL, 1, (void **)&state), ncclInvalidArgument, "no memory");
    refused(ncclMemAlloc(NULL, 1), ncclInvalidArgument, "ptr is NULL");
    refused(ncclCommSplit(single, -2, 0, &single, NULL), ncclInvalidArgument, "color -2");
}

static void wrong_arguments_of_init(void **state)
{
    ncclUniqueId id = {{0}};
    ncclComm_t comm = NULL;
    (void)state;
    refused(ncclGetUniqueId(NULL), ncclInvalidArgument, "uniqueId is NULL");
    refused(ncclCommInitRank(NULL, 1, id, 0), ncclInvalidArgument, "comm is NULL");
    refused(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument, "rank 2 of 2 ranks");
    refused(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument, "rank 0 of 0 ranks");
    refused(ncclCommInitRankScalable(&comm, 1, 0, 0, &id, NULL), ncclInvalidArgument, "0 ids");
    refused(ncclCommInitAll(NULL, 1, NULL), ncclInvalidArgument, "comm is NULL");
    assert_int_equal(ncclCommDestroy(NULL), ncclSuccess);
    assert_int_equal(ncclCommAbort(NULL), ncclSuccess);
}

/* As a program compiled against an nccl.h of a version has it: `bytes` of it, the rest is not its
 * own. */
static ncclConfig_t config_of(size_t bytes)
{
    ncclConfig_t config;
    memset(&config, 0x7b, sizeof config);
    config = (ncclConfig_t){.size = bytes, .magic = NCCL_API_MAGIC, .version = 21400};
    int *const fields[] = {
        &config.blocking,      &config.cgaClusterSize,      &config.minCTAs,
        &config.maxCTAs,       &config.splitShare,          &config.trafficClass,
        &config.collnetEnable, &config.CTAPolicy,           &config.shrinkShare,
        &config.nvlsCTAs,      &config.nChannelsPerNetPeer, &config.nvlinkCentricSched};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const size_t end = (size_t)((char *)fields[i] - (char *)&config) + sizeof(int);
        const bool known = end <= (bytes == 24 ? 20 : bytes); /* 2.14 ends with four unused bytes */
        *fields[i] = known ? NCCL_CONFIG_UNDEF_INT : -77;
    }
    return config;
}

static ncclResult_t init_with(ncclConfig_t *config)
{
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    ncclResult_t result = ncclCommInitRankConfig(&comm, 1, id, 0, config);
    if (result == ncclSuccess) {
        assert_int_equal(ncclCommDestroy(comm), ncclSuccess);
    }
    return result;
}

/* The sizes of 2.14, 2.17, 2.18, one between, 2.27, 2.28, 2.30, 2.32, and of one that is to
 * come. */
static void configs_of_every_size(void **state)
{
    static const size_t sizes[] = {24, 40, 48, 56, 72, 80, 96, 120, 512};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct {
            ncclConfig_t config;
            char more[512];
        } given = {.config = config_of(sizes[i])};
        assert_int_equal(init_with(&given.config), ncclSuccess);
    }
    assert_int_equal(init_with(NULL), ncclSuccess);
}

/* NCCL lowers what is above its limit by itself. */
static void a_cga_cluster_may_be_larger_than_any_device_has(void **state)
{
    ncclConfig_t config = config_of(sizeof config);
    (void)state;
    config.cgaClusterSize = 16;
    assert_int_equal(init_with(&config), ncclSuccess);
    config.cgaClusterSize = -1;
    refused(init_with(&config), ncclInvalidArgument, "cgaClusterSize = -1, legal is 0 to");
}

static void wrong_configs(void **state)
{
    ncclConfig_t config = config_of(sizeof config);
    (void)state;
    config.magic = 0xcafe;
    refused(init_with(&config), ncclInvalidArgument, "magic 0xcafe");
    config = config_of(16);
    refused(init_with(&config), ncclInvalidArgument, "16 bytes");
    config = config_of(sizeof config);
    config.blocking = 2;
    refused(init_with(&config), ncclInvalidArgument, "blocking = 2, legal is 0 to 1");
    config.blocking = 1;
    config.minCTAs = 8;
    config.maxCTAs = 4;
    refused(init_with(&config), ncclInvalidArgument, "minCTAs = 8 above maxCTAs = 4");
    config.maxCTAs = 8;
    config.netName = "Socket";
    config.commName = "mine";
    assert_int_equal(init_with(&config), ncclSuccess);
}

typedef ncclResult_t (*nothing_t)(void);

/* Every refused function, under both names. */
static void refusals_name_the_call(void **state)
{
#define REFUSED_NAME(name, reason) {#name, reason},
    static const struct {
        const char *name, *reason;
    } map[] = {NCCL_REFUSED_MAP(REFUSED_NAME)};
    (void)state;
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++) {
        char twin[64], words[256];
        nothing_t call, other;
        snprintf(twin, sizeof twin, "p%s", map[i].name);
        *(void **)&call = dlsym(RTLD_DEFAULT, map[i].name);
        *(void **)&other = dlsym(RTLD_DEFAULT, twin);
        assert_non_null(call);
        assert_ptr_equal(call, other);
        snprintf(words, sizeof words, "%s is not offered by weft: %s", map[i].name, map[i].reason);
        refused(call(), ncclInvalidUsage, words);
    }
}

static void devices_have_no_api_of_their_own(void **state)
{
    ncclCommProperties_t properties = {.size = sizeof properties, .magic = NCCL_API_MAGIC};
    (void)state;
    memset(&properties.rank, 0xff, sizeof properties - offsetof(ncclCommProperties_t, rank));
    assert_int_equal(ncclCommQueryProperties(single, &properties), ncclSuccess);
    assert_int_equal(properties.rank, 0);
    assert_int_equal(properties.nRanks, 1);
    assert_int_equal(properties.ginType, 0);
    assert_false(properties.deviceApiSupport || properties.multimemSupport);
    assert_true(properties.hostRmaSupport);
    properties.magic = 0;
    assert_int_equal(ncclCommQueryProperties(single, &properties), ncclInvalidArgument);
    ncclTeam_t team = ncclTeamWorld(single);
    assert_true(team.nRanks == 1 && team.rank == 0 && team.stride == 1);
    assert_int_equal(ncclTeamLsa(single).nRanks, 1);
    assert_int_equal(ncclTeamRail(single).nRanks, 1);
    assert_int_equal(ncclTeamRankToWorld(single, team, 0), 0);
    assert_int_equal(ncclTeamWorld(NULL).nRanks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_and_texts),
        cmocka_unit_test(host_memory_without_cuda),
        cmocka_unit_test(wrong_arguments_of_calls),
        cmocka_unit_test(wrong_arguments_of_init),
        cmocka_unit_test(configs_of_every_size),
        cmocka_unit_test(a_cga_cluster_may_be_larger_than_any_device_has),
        cmocka_unit_test(wrong_configs),
        cmocka_unit_test(refusals_name_the_call),
        cmocka_unit_test(devices_have_no_api_of_their_own),
    };
    return cmocka_run_group_tests(tests, begin_single, end_single);
}
