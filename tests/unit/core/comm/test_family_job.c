/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exchange behind the job: all ranks come to know the same of hosts of several kinds, and topology
 * files that differ are told apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/boot/boot_state.h"
#include "core/comm/family_job.c"
#include "tests/support/crowd.h"
#include "tests/support/scratch.h"

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

/* Hosts 0, 2, 4 … are of one kind, the others differ from it and from each other. */
static void own_of(uint32_t host, weft_job_kind_t *kind)
{
    memset(kind, 0, sizeof *kind);
    kind->nodes = host % 2 == 0 ? 2 : 10 + host;
    kind->ndevices = WEFT_JOB_DEVICES_MAX;
    kind->ngpus = 8;
    for (uint32_t i = 0; i < kind->ndevices; i++) {
        kind->devices[i].speed = kind->nodes * 1000 + i;
    }
    memset(kind->path, (int)kind->nodes, sizeof kind->path);
}

static weft_status_t meet(member_t *m)
{
    enum { HOSTS = 4 };
    int bad = 0;
    uint32_t nhosts = m->nranks < HOSTS ? m->nranks : HOSTS;
    weft_family_t *family = weft_os_alloc(sizeof *family, 0);
    family_own_t *own = weft_os_alloc(sizeof *own, 0);
    weft_job_kind_t *expected = weft_os_alloc(sizeof *expected, 0);
    family->boot = m->boot;
    family->nranks = m->nranks;
    family->rank = m->rank;
    deal_hosts(m->boot, m->nranks, nhosts);
    own_of(m->rank % nhosts, &own->kind);
    own->rank =
        (weft_job_rank_t){.kind = weft_job_kind_hash(&own->kind), .node = m->rank, .gpu = 7};
    CHECK(family_job_gather(family, own) == WEFT_OK);
    CHECK(family_job_share_kinds(family, own) == WEFT_OK);
    CHECK(family_job_compare_sites(family) == WEFT_OK);
    const weft_job_t *job = &family->job;
    CHECK(job->nkinds == (nhosts <= 1 ? 1 : nhosts <= 3 ? 2 : 3));
    for (uint32_t rank = 0; rank < m->nranks; rank++) {
        CHECK(job->ranks[rank].node == rank && job->ranks[rank].gpu == 7);
    }
    for (uint32_t host = 0; host < nhosts; host++) {
        own_of(host, expected);
        CHECK(memcmp(expected, &job->kinds[job->kind[host]], sizeof *expected) == 0);
    }
    weft_job_fini(&family->job);
    weft_os_free(expected);
    weft_os_free(own);
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
        crowd_run(&crowd);
        for (uint32_t rank = 0; rank < sizes[i]; rank++) {
            assert_int_equal(crowd.members[rank].status, WEFT_OK);
        }
    }
}

/* Files by rank, set before the ranks start. */
static char files[3][256];

static weft_status_t meet_with_files(member_t *m)
{
    weft_family_t *family = weft_os_alloc(sizeof *family, 0);
    family->boot = m->boot;
    family->nranks = m->nranks;
    family->rank = m->rank;
    family->settings.core.topology = files[m->rank];
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
    crowd_init(&crowd, 3);
    crowd.act = meet_with_files;
    crowd_run(&crowd);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(crowd.members[rank].status, status);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_know_every_kind_of_host),
        cmocka_unit_test(files_that_say_the_same_give_levels),
        cmocka_unit_test(files_that_differ_or_lack_are_an_error_on_all_ranks),
        cmocka_unit_test(a_host_in_no_line_is_an_error_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
