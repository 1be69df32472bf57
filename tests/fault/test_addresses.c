/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hosts with many addresses, of which one leads to the others: ranks find it, or say what they
 * tried. Each host is a network namespace. Exit code 77: this machine has none. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "core/boot/fixed_id.h"
#include "core/os/os.h"
#include "tests/support/sandbox.h"
#include "tests/support/unit.h"

enum { HOSTS = 2, EXIT_SKIPPED = 77, SETTINGS_MOST = 4 };

/* What the processes of a case share. */
typedef struct board {
    _Atomic uint32_t apart, wired, named;
    uint32_t first; /* number of the first host, so that no two cases have the same */
    char at[64];    /* HOST:PORT of a fixed id; "": rank 0 makes one */
    const char *settings[SETTINGS_MOST];
    uint32_t settings_count;
    weft_unique_id_t id;
    weft_status_t status[HOSTS];
    weft_error_t error[HOSTS];
} board_t;

static board_t *board;

static weft_status_t rank_id(uint32_t rank, const weft_comm_options_t *options)
{
    weft_status_t status = WEFT_OK;
    if (rank == 0) {
        status = board->at[0] != '\0' ? weft_fixed_id_make(board->at, &board->id)
                                      : weft_unique_id_create(&board->id, options);
        atomic_store(&board->named, 1);
    }
    return hosts_await(&board->named, 1) ? status : WEFT_ERR_TIMEOUT;
}

static weft_status_t rank_work(uint32_t rank)
{
    const weft_comm_options_t options = {.size = sizeof options,
                                         .config = "/dev/null",
                                         .settings = board->settings,
                                         .settings_count = board->settings_count};
    weft_comm_t *comm = NULL;
    uint32_t one = 1, sum = 0;
    weft_status_t status = rank_id(rank, &options);
    if (status == WEFT_OK) {
        status = weft_comm_init_rank(&comm, HOSTS, &board->id, rank, &options);
    }
    if (status == WEFT_OK) {
        status = weft_all_reduce(&one, &sum, 1, WEFT_UINT32, WEFT_SUM, comm, NULL);
    }
    board->error[rank].size = sizeof board->error[rank];
    weft_last_error(&board->error[rank]);
    const weft_status_t ended = weft_comm_destroy(comm);
    return status != WEFT_OK ? status : sum == HOSTS ? ended : WEFT_ERR_INTERNAL;
}

static void rank_main(uint32_t rank)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    board->status[rank] = WEFT_ERR_SYSTEM;
    if (unshare(CLONE_NEWNET) == 0) {
        atomic_fetch_add(&board->apart, 1);
        board->status[rank] = hosts_await(&board->wired, 1) ? rank_work(rank) : WEFT_ERR_TIMEOUT;
    }
    _exit(0);
}

/* The wire is the last interface of a host. The scripts run on each host, before and after that: $1
 * is its rank, $2 and $3 are the last numbers of its own address and of the other's. */
static bool wire(const pid_t *pids, const char *before, const char *after)
{
    bool right = hosts_await(&board->apart, HOSTS);
    for (uint32_t r = 0; r < HOSTS && right; r++) {
        const uint32_t own = board->first + r, other = board->first + 1 - r;
        right = host_run(pids[r], "set -e; set -- %u %u %u; %s", r, own + 1, other + 1, before) &&
                hosts_connect(own, UINT32_MAX, pids[r]) &&
                host_run(pids[r], "set -e; set -- %u %u %u; %s", r, own + 1, other + 1, after);
    }
    atomic_store(&board->wired, right);
    return right;
}

/* Runs the two ranks. */
static void run(const char *before, const char *after)
{
    pid_t pids[HOSTS];
    for (uint32_t r = 0; r < HOSTS; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            rank_main(r);
        }
    }
    const bool wired = wire(pids, before, after);
    for (uint32_t r = 0; r < HOSTS; r++) {
        if (!wired) {
            kill(pids[r], SIGKILL);
        }
        waitpid(pids[r], NULL, 0);
    }
    assert_true(wired);
}

static void expect(uint32_t rank, weft_status_t status, const char *words)
{
    const weft_error_t *error = &board->error[rank];
    if (board->status[rank] != status || (words != NULL && strstr(error->text, words) == NULL)) {
        fail_msg("rank %u: %s: \"%s\"; expected %s and \"%s\"", rank,
                 weft_status_name(board->status[rank]), error->text, weft_status_name(status),
                 words != NULL ? words : "");
    }
}

/* Begins a case, with hosts of its own. `network`: the first three numbers of the fixed id's
 * address; NULL: rank 0 makes an id. */
static void case_begin(const char *network)
{
    static uint32_t hosts;
    memset(board, 0, sizeof *board);
    board->first = hosts;
    hosts += HOSTS;
    board->settings[board->settings_count++] = "core.net=net-socket";
    board->settings[board->settings_count++] = "boot.init_timeout=10";
    if (network != NULL) {
        snprintf(board->at, sizeof board->at, "%s.%u:4711", network, board->first + 1);
    }
}

/* Interfaces that lead nowhere, on networks that both hosts have, or each its own. */
#define ADD_INTERFACES(numbers, address)                                                           \
    "for i in " numbers "; do ip link add eno$i type veth peer name peno$i; "                      \
    "ip addr add " address " dev eno$i; ip link set eno$i up; ip link set peno$i up; done"
#define SAME_NETWORKS ADD_INTERFACES("1 2 3 4", "192.168.$((120+i)).1/24")
#define OWN_NETWORKS ADD_INTERFACES("1 2 3 4", "192.168.$((120+$1*10+i)).1/24")
#define MANY_NETWORKS ADD_INTERFACES("1 2 3 4 5 6 7 8", "192.168.$((120+$1*10+i)).1/24")

static void the_address_that_reached_the_root_is_among_those_of_a_rank(void **state)
{
    static const char *const interfaces[] = {SAME_NETWORKS, OWN_NETWORKS};
    (void)state;
    for (size_t i = 0; i < sizeof interfaces / sizeof *interfaces; i++) {
        case_begin("10.77.0");
        run(interfaces[i], ":");
        expect(0, WEFT_OK, NULL);
        expect(1, WEFT_OK, NULL);
    }
}

static void so_is_an_address_of_ipv6(void **state)
{
    (void)state;
    case_begin(NULL);
    snprintf(board->at, sizeof board->at, "[fd77::%u]:4711", board->first + 1);
    run(SAME_NETWORKS, "ip addr flush dev eth0; ip addr add fd77::$2/64 dev eth0 nodad");
    expect(0, WEFT_OK, NULL);
    expect(1, WEFT_OK, NULL);
}

static void an_id_has_the_address_to_which_the_default_route_belongs(void **state)
{
    (void)state;
    case_begin(NULL);
    run(SAME_NETWORKS, "ip route add default via 10.77.0.$3");
    expect(0, WEFT_OK, NULL);
    expect(1, WEFT_OK, NULL);
}

static void the_filter_holds_for_the_address_that_reached_the_root_too(void **state)
{
    (void)state;
    case_begin("10.77.0");
    board->settings[board->settings_count++] = "boot.interface=eno";
    run(SAME_NETWORKS, ":");
    expect(1, WEFT_ERR_PEER_DEAD, "192.168.121.1:");
    expect(1, WEFT_ERR_PEER_DEAD, "boot.interface");
    assert_null(strstr(board->error[1].text, "at 10.77.0."));
}

static void a_join_that_takes_too_long_names_addresses_and_the_remedy(void **state)
{
    (void)state;
    case_begin("10.77.0");
    board->settings[1] = "boot.init_timeout=3";
    board->settings[board->settings_count++] = "boot.interface=eno";
    run(OWN_NETWORKS, ":");
    for (uint32_t r = 0; r < HOSTS; r++) {
        expect(r, WEFT_ERR_TIMEOUT, "192.168.121.");
        expect(r, WEFT_ERR_TIMEOUT, "boot.interface");
    }
}

/* More than a transport tells its peers. */
static void data_that_finds_no_address_names_the_option_that_chooses(void **state)
{
    (void)state;
    for (int chosen = 0; chosen < 2; chosen++) {
        case_begin("10.77.0");
        if (chosen) {
            board->settings[board->settings_count++] = "net-socket.devices==eth0";
        }
        run(MANY_NETWORKS, ":");
        for (uint32_t r = 0; r < HOSTS; r++) {
            expect(r, chosen ? WEFT_OK : WEFT_ERR_LINK, chosen ? NULL : "net-socket.devices");
        }
    }
}

/* Hosts that announce an address of their own to the routers, and have none on the wire. */
static void addresses_on_the_loopback_interface_carry_data(void **state)
{
    (void)state;
    case_begin("10.99.0");
    run("ip addr add 10.99.0.$2/32 dev lo",
        "ip addr flush dev eth0; ip route add 10.99.0.$3/32 dev eth0 src 10.99.0.$2");
    expect(0, WEFT_OK, NULL);
    expect(1, WEFT_OK, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_address_that_reached_the_root_is_among_those_of_a_rank),
        cmocka_unit_test(so_is_an_address_of_ipv6),
        cmocka_unit_test(an_id_has_the_address_to_which_the_default_route_belongs),
        cmocka_unit_test(the_filter_holds_for_the_address_that_reached_the_root_too),
        cmocka_unit_test(a_join_that_takes_too_long_names_addresses_and_the_remedy),
        cmocka_unit_test(data_that_finds_no_address_names_the_option_that_chooses),
        cmocka_unit_test(addresses_on_the_loopback_interface_carry_data),
    };
    const char *why = sandbox_enter();
    why = why == NULL && !hosts_begin() ? "no virtual networks: they need ip and namespaces" : why;
    if (why != NULL) {
        printf("SKIPPED: %s\n", why);
        return EXIT_SKIPPED;
    }
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return board == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
