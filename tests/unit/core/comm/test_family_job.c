/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchanges behind the job: all ranks come to know the same of hosts of several kinds, with the
 * same rings, and topology files that differ are told apart. */
#include <stdio.h>
#include <string.h>

#include "core/boot/boot_state.h"
#include "core/comm/family_job.h"
#include "core/plugin/discover.h"
#include "core/plugin/find_graph.h"
#include "core/topo/machine_text.h"
#include "core/topo/search.h"
#include "tests/support/crowd.h"
#include "tests/support/scratch.h"

/* The machine of a host is that of the file in its settings, and looked at once. */
static _Atomic uint32_t looks;

static weft_status_t fake_discover(const weft_registry_t *registry, const weft_config_t *config,
                                   const weft_settings_t *settings, weft_machine_t *machine)
{
    (void)registry;
    (void)config;
    looks++;
    return weft_machine_load(settings->core.machine, machine);
}

static weft_status_t fake_find_graph(const weft_registry_t *registry,
                                     const weft_settings_t *settings,
                                     const weft_graph_wanted_t *wanted, weft_graph_t *graph_p)
{
    (void)registry;
    (void)settings;
    const weft_search_request_t request = {.pattern = wanted->pattern, .hosts = wanted->hosts};
    return weft_search(graph_p, wanted->capacities, &request);
}

#define weft_discover fake_discover
#define weft_find_graph fake_find_graph
#include "core/comm/family_hosts.c"
#include "core/comm/family_job.c"
#include "tests/support/unit.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d, rank %u: %s\n", __LINE__, m->rank, #condition);              \
            bad++;                                                                                 \
        }                                                                                          \
    } while (0)

/* Threads of one process share a host; here they are dealt to `nhosts` of them in turn. */
static void deal_hosts(weft_boot_t *boot, uint32_t nranks, uint32_t nhosts)
{
    weft_boot_peer_t *peers = (weft_boot_peer_t *)weft_boot_peers(boot);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        peers[rank].host = rank % nhosts;
        snprintf(peers[rank].host_name, sizeof peers[rank].host_name, "node%u", rank % nhosts);
    }
    boot->hosts = nhosts;
}

#define MACHINES WEFT_SOURCE_DIR "/tests/unit/core/topo/machines/"

static const weft_kernel_ops_t no_device = {.size = sizeof no_device};

static weft_family_t *open_family(member_t *m)
{
    weft_family_t *family = weft_os_alloc(sizeof *family, 0);
    family->boot = m->boot;
    family->nranks = m->nranks;
    family->rank = m->rank;
    family->kernel.ops = &no_device;
    family->settings.core.topology = "";
    family->settings.core.machine = "";
    family->settings.core.rings = family->settings.core.trees = "";
    return family;
}

/* Hosts 0, 2 … are of one kind, the others differ from it and from each other. */
static const char *const machines[] = {MACHINES "hgx-h100.machine", MACHINES "cpu-2s.machine",
                                       MACHINES "hgx-h100.machine", MACHINES "dgx-1v.machine"};

static weft_job_t first_job; /* what rank 0 came to know, while all others look */

static bool same_topology(const weft_job_t *a, const weft_job_t *b)
{
    bool same = a->nkinds == b->nkinds && a->topo.nrings == b->topo.nrings &&
                a->topo.nchains == b->topo.nchains;
    for (uint32_t i = 0; same && i < a->nkinds; i++) {
        same = a->kinds[i]->bytes == b->kinds[i]->bytes &&
               memcmp(a->kinds[i], b->kinds[i], a->kinds[i]->bytes) == 0;
    }
    size_t words = ((size_t)a->topo.nrings + a->topo.nchains) * a->nranks;
    return same && memcmp(a->device, b->device, a->nranks * sizeof *a->device) == 0 &&
           (words == 0 || memcmp(a->places, b->places, words * sizeof *a->places) == 0);
}

static weft_status_t meet(member_t *m)
{
    enum { HOSTS = 4 };
    int bad = 0;
    uint32_t nhosts = m->nranks < HOSTS ? m->nranks : HOSTS;
    uint8_t met = 0;
    weft_family_t *family = open_family(m);
    deal_hosts(m->boot, m->nranks, nhosts);
    family->settings.core.machine = machines[m->rank % nhosts];
    weft_status_t status = weft_family_agree_on_job(family);
    const weft_job_t *job = &family->job;
    CHECK(status == WEFT_OK);
    if (m->rank == 0) {
        first_job = *job;
    }
    /* All have what rank 0 shows before they look, and have looked before it goes. */
    CHECK(weft_boot_all_gather(m->boot, "shown", &met, 1, (uint8_t[64]){0}) == WEFT_OK);
    CHECK(job->nkinds == (nhosts == 2 ? 2 : nhosts == 3 ? 2 : 3));
    CHECK(same_topology(job, &first_job));
    CHECK(job->topo.rails != NULL && job->topo.rails[0] == 8 && job->topo.rails[1] == 2);
    CHECK(m->nranks < 9 || (job->topo.nrings > 0 && job->device[8] == 5));
    CHECK(weft_boot_all_gather(m->boot, "seen", &met, 1, (uint8_t[64]){0}) == WEFT_OK);
    weft_job_fini(&family->job);
    weft_os_free(family);
    return bad == 0 ? WEFT_OK : WEFT_ERR_INTERNAL;
}

static void all_ranks_know_every_kind_of_host(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {2, 3, 4, 9};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        crowd_t crowd;
        crowd_init(&crowd, sizes[i]);
        crowd.act = meet;
        looks = 0;
        crowd_run(&crowd);
        assert_int_equal(looks, sizes[i] < 4 ? sizes[i] : 4);
        crowd_assert_all(&crowd, WEFT_OK);
    }
}

/* Files by rank, set before the ranks start. */
static char files[3][256];

static weft_status_t meet_with_files(member_t *m)
{
    weft_family_t *family = open_family(m);
    family->settings.core.topology = files[m->rank];
    family->settings.core.machine = MACHINES "nothing.machine";
    deal_hosts(m->boot, m->nranks, 3);
    weft_status_t status = weft_family_agree_on_job(family);
    bool levels = status == WEFT_OK && family->job.topo.nlevels == 3 &&
                  family->job.topo.host_level == 1 && family->job.topo.group[0][0] == 0 &&
                  family->job.topo.group[0][1] == 1 && family->job.topo.group[0][2] == 0;
    weft_job_fini(&family->job);
    weft_os_free(family);
    return status == WEFT_OK && !levels ? WEFT_ERR_INTERNAL : status;
}

static void give_file(uint32_t rank, const char *name, const char *text)
{
    snprintf(files[rank], sizeof files[rank], "%s",
             text != NULL ? scratch_write(name, text, strlen(text)) : "");
}

static void expect_meeting(weft_status_t status)
{
    crowd_t crowd;
    crowd_play(&crowd, 3, meet_with_files);
    crowd_assert_all(&crowd, status);
}

static void files_that_say_the_same_give_levels(void **state)
{
    (void)state;
    give_file(0, "a", "left node[0,2]\nright node1\n");
    give_file(1, "b", "# the same\nleft  node[0,2]\nright node1");
    give_file(2, "a", "left node[0,2]\nright node1\n");
    expect_meeting(WEFT_OK);
}

static void files_that_differ_or_lack_are_an_error_on_all_ranks(void **state)
{
    (void)state;
    give_file(0, "a", "left node[0,2]\nright node1\n");
    give_file(1, "a", "left node[0,2]\nright node1\n");
    give_file(2, "b", "left node0\nright node[1-2]\n");
    expect_meeting(WEFT_ERR_CONFIG);
    give_file(2, "c", NULL);
    expect_meeting(WEFT_ERR_CONFIG);
}

static void a_host_in_no_line_is_an_error_on_all_ranks(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 3; rank++) {
        give_file(rank, "a", "left node[0-1]\n");
    }
    expect_meeting(WEFT_ERR_CONFIG);
}

/* GPUs as the kernel plugins of the ranks tell them; the machine of a file has other addresses. */
static weft_status_t count_devices(weft_kernel_t *kernel, uint32_t *count_p)
{
    (void)kernel;
    *count_p = 2;
    return WEFT_OK;
}

static weft_status_t tell_device(weft_kernel_t *kernel, uint32_t index,
                                 weft_kernel_device_t *device)
{
    (void)kernel;
    device->chosen = index == 1;
    snprintf(device->pci, sizeof device->pci, "0000:%02x:00.0", 0x20 + index);
    return WEFT_OK;
}

static const void *get_extension(weft_kernel_t *kernel, const char *name)
{
    (void)kernel;
    static const weft_kernel_describe_t describe = {
        .size = sizeof describe, .count = count_devices, .device = tell_device};
    return strcmp(name, WEFT_KERNEL_DESCRIBE) == 0 ? &describe : NULL;
}

static void the_device_of_a_rank_is_the_one_that_its_kernel_chose(void **state)
{
    (void)state;
    static const weft_kernel_ops_t ops = {.size = sizeof ops, .get_extension = get_extension};
    weft_family_t *family = weft_os_alloc(sizeof *family, 0);
    family->kernel.ops = &ops;
    assert_int_equal(weft_family_gpu(family), 0x2100);
    family->kernel.ops = &no_device;
    assert_int_equal(weft_family_gpu(family), WEFT_JOB_NONE);
    weft_os_free(family);
}

static weft_status_t meet_on_one_host(member_t *m)
{
    int bad = 0;
    weft_family_t *family = open_family(m);
    deal_hosts(m->boot, m->nranks, 1);
    CHECK(weft_family_agree_on_job(family) == WEFT_OK);
    CHECK(family->job.nkinds == 0 && family->job.topo.rails == NULL);
    weft_job_fini(&family->job);
    weft_os_free(family);
    return bad == 0 ? WEFT_OK : WEFT_ERR_INTERNAL;
}

/* All ranks but one were given a machine; the first rank looks. */
static weft_status_t meet_on_an_imagined_host(member_t *m)
{
    int bad = 0;
    weft_family_t *family = open_family(m);
    deal_hosts(m->boot, m->nranks, 1);
    family->settings.core.machine = m->rank == 1 ? "" : machines[0];
    CHECK(weft_family_agree_on_job(family) == WEFT_OK);
    CHECK(family->job.nkinds == 1 && family->job.kinds[0]->imagined);
    weft_job_fini(&family->job);
    weft_os_free(family);
    return bad == 0 ? WEFT_OK : WEFT_ERR_INTERNAL;
}

static uint32_t looks_of(weft_status_t (*act)(member_t *m))
{
    crowd_t crowd;
    crowd_init(&crowd, 3);
    crowd.act = act;
    looks = 0;
    crowd_run(&crowd);
    crowd_assert_all(&crowd, WEFT_OK);
    return looks;
}

static void a_job_on_one_host_looks_at_a_machine_that_it_was_given_only(void **state)
{
    (void)state;
    assert_int_equal(looks_of(meet_on_one_host), 0);
    assert_int_equal(looks_of(meet_on_an_imagined_host), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_know_every_kind_of_host),
        cmocka_unit_test(the_device_of_a_rank_is_the_one_that_its_kernel_chose),
        cmocka_unit_test(a_job_on_one_host_looks_at_a_machine_that_it_was_given_only),
        cmocka_unit_test(files_that_say_the_same_give_levels),
        cmocka_unit_test(files_that_differ_or_lack_are_an_error_on_all_ranks),
        cmocka_unit_test(a_host_in_no_line_is_an_error_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
