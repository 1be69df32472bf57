/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whom the root tells of a failure, and when: a rank of its own process may end with the root.
 * Claims that come again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/control_listener.h"
#include "core/boot/root_table.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

#define RANKS 3u

typedef struct scene {
    weft_root_table_t table;
    int watch;
    int far[RANKS]; /* the other ends */
} scene_t;

static weft_join_request_t scene_request(uint32_t rank, bool own)
{
    weft_join_request_t request;
    assert_int_equal(weft_join_request_make(&request, rank, RANKS, NULL, 0), WEFT_OK);
    request.pid += own ? 0 : 1 + (int32_t)rank;
    return request;
}

static void scene_begin(scene_t *scene)
{
    weft_join_request_t first = scene_request(1, false);
    assert_int_equal(weft_os_watch_open(&scene->watch), WEFT_OK);
    weft_root_table_init(&scene->table, scene->watch, 7);
    assert_int_equal(weft_root_table_make(&scene->table, &first), WEFT_OK);
}

static void scene_fail(scene_t *scene, weft_status_t status)
{
    scene_begin(scene);
    weft_root_fail(&scene->table, status, NULL, "too bad");
}

static void scene_end(scene_t *scene)
{
    weft_root_table_fini(&scene->table);
    weft_os_close(scene->watch);
    for (uint32_t r = 0; r < RANKS; r++) {
        close(scene->far[r]);
    }
}

static void scene_come(scene_t *scene, uint32_t rank, bool own)
{
    int ends[2];
    weft_join_request_t request = scene_request(rank, own);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    scene->far[rank] = ends[1];
    weft_root_tell_late(&scene->table, ends[0], &request);
}

static bool scene_told(const scene_t *scene, uint32_t rank)
{
    char byte;
    return recv(scene->far[rank], &byte, 1, MSG_PEEK) == 1;
}

static void a_late_rank_of_the_own_process_is_told_after_the_others(void **unused)
{
    (void)unused;
    scene_t scene;
    scene_fail(&scene, WEFT_ERR_RESOURCE);
    scene.table.own_until = WEFT_NEVER;
    scene_come(&scene, 0, true);
    assert_false(scene_told(&scene, 0));
    scene_come(&scene, 1, false);
    assert_true(scene_told(&scene, 1));
    scene.table.own_until = WEFT_NEVER;
    assert_false(scene_told(&scene, 0));
    assert_false(weft_root_all_told(&scene.table));
    scene_come(&scene, 2, false);
    assert_true(scene_told(&scene, 2) && scene_told(&scene, 0));
    assert_true(weft_root_all_told(&scene.table));
    scene_end(&scene);
}

static void whose_first_message_was_wrong_is_not_waited_for(void **unused)
{
    (void)unused;
    scene_t scene;
    scene_begin(&scene);
    weft_root_fail(&scene.table, WEFT_ERR_PROTO, &scene.table.seats[2], "too bad");
    scene_come(&scene, 0, false);
    assert_false(weft_root_all_told(&scene.table));
    scene_come(&scene, 1, false);
    assert_true(weft_root_all_told(&scene.table));
    scene_end(&scene);
}

static void whoever_comes_late_puts_off_the_end_of_the_own_process(void **unused)
{
    (void)unused;
    static const weft_status_t statuses[] = {WEFT_ERR_RESOURCE, WEFT_ERR_PEER_DEAD};
    for (uint32_t i = 0; i < 2; i++) {
        scene_t scene;
        scene_fail(&scene, statuses[i]);
        uint64_t before = scene.table.own_until;
        assert_true(scene.table.own_most > before);
        scene_come(&scene, 0, true);
        assert_true(scene.table.own_until == before);
        weft_os_sleep_ns(WEFT_NS_PER_MS);
        scene_come(&scene, 1, false);
        assert_true(scene.table.own_until > before &&
                    scene.table.own_until <= scene.table.own_most);
        scene.table.own_most = before;
        scene_come(&scene, 2, false);
        assert_true(scene.table.own_until == before);
        scene_end(&scene);
    }
}

static void the_own_process_is_told_in_the_end_whoever_is_missing(void **unused)
{
    (void)unused;
    scene_t scene;
    scene_fail(&scene, WEFT_ERR_ARG);
    scene.far[1] = scene.far[2] = -1;
    scene.table.own_until = WEFT_NEVER;
    scene_come(&scene, 0, true);
    weft_root_tell_own(&scene.table, WEFT_NEVER);
    assert_true(scene_told(&scene, 0));
    scene_end(&scene);
}

static void missing(const weft_root_table_t *table, uint32_t count, const char *ranks)
{
    char text[64];
    uint32_t first = RANKS;
    assert_int_equal(weft_root_missing(table, true, text, sizeof text, &first), count);
    assert_string_equal(text, ranks);
    assert_int_equal(first, ranks[0] - '0');
}

static void who_waits_for_a_neighbour_is_not_missed(void **unused)
{
    (void)unused;
    scene_t scene = {.watch = -1};
    weft_join_request_t request = scene_request(1, false);
    weft_root_table_t *table = &scene.table;
    weft_root_table_init(table, -1, 7);
    assert_int_equal(weft_root_table_make(table, &request), WEFT_OK);
    missing(table, 3, "0-2");
    table->seats[0].waits = true;
    missing(table, 2, "1-2");
    table->seats[2].ready = true;
    missing(table, 1, "1");
    table->seats[1].waits = true; /* nobody can be told from the others */
    missing(table, 2, "0-1");
    weft_root_table_fini(table);
}

/* TCP may bring a frame in pieces; the simulation found that the root took the rest of one for a
 * death. */
static void a_header_in_pieces_is_put_together(void **state)
{
    scene_t scene = {.far = {-1, -1, -1}};
    weft_root_header_t header = {.bytes = 0};
    uint8_t bytes[WEFT_WIRE_HEADER];
    int ends[2];
    weft_frame_t sent = {.type = WEFT_FRAME_READY, .from = 1, .comm_id = 7, .number = 3}, frame;
    (void)state;
    scene_fail(&scene, WEFT_ERR_LINK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    weft_frame_encode(&sent, bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        assert_int_equal(weft_root_read_header(&scene.table, ends[0], &header, &frame), WEFT_AGAIN);
        assert_int_equal(write(ends[1], &bytes[i], 1), 1);
    }
    assert_int_equal(weft_root_read_header(&scene.table, ends[0], &header, &frame), WEFT_OK);
    assert_int_equal(frame.type, WEFT_FRAME_READY);
    assert_int_equal(frame.number, 3);
    assert_int_equal(write(ends[1], bytes, 5), 5);
    close(ends[1]);
    assert_int_equal(weft_root_read_header(&scene.table, ends[0], &header, &frame), WEFT_AGAIN);
    assert_int_equal(weft_root_read_header(&scene.table, ends[0], &header, &frame), WEFT_ERR_PROTO);
    close(ends[0]);
    scene_end(&scene);
}

/* Why a rank gives up comes behind the header, perhaps later. */
static void a_failure_in_pieces_is_put_together(void **state)
{
    scene_t scene = {.far = {-1, -1, -1}};
    weft_root_header_t header = {.bytes = 0};
    weft_error_t error, heard;
    uint8_t bytes[WEFT_WIRE_MOST];
    const char *why;
    int ends[2];
    weft_frame_t sent = {
        .type = WEFT_FRAME_FAIL, .bytes = WEFT_WIRE_ERROR, .from = 1, .comm_id = 7};
    weft_frame_t frame;
    (void)state;
    scene_begin(&scene);
    weft_error_clear(&error);
    error.status = WEFT_ERR_RESOURCE;
    snprintf(error.text, sizeof error.text, "no memory");
    weft_frame_encode(&sent, bytes);
    weft_error_encode(&error, bytes + WEFT_WIRE_HEADER);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    for (size_t i = 0; i < sizeof bytes; i += WEFT_WIRE_HEADER / 2) {
        const size_t left = sizeof bytes - i, piece = WEFT_WIRE_HEADER / 2;
        assert_int_equal(weft_root_read_header(&scene.table, ends[0], &header, &frame), WEFT_AGAIN);
        assert_true(write(ends[1], bytes + i, left < piece ? left : piece) > 0);
    }
    assert_int_equal(weft_root_read_header(&scene.table, ends[0], &header, &frame), WEFT_OK);
    assert_int_equal(weft_error_decode(header.failure, RANKS, &heard, &why), WEFT_OK);
    assert_int_equal(heard.status, WEFT_ERR_RESOURCE);
    assert_string_equal(heard.text, "no memory");
    weft_os_free(header.failure);
    close(ends[0]);
    close(ends[1]);
    scene_end(&scene);
}

/* So it can say whose host it is if a child does not come, or is lost before ranks have told each
 * other. */
static void a_welcome_tells_the_children_and_then_the_parent(void **state)
{
    static const uint32_t types[RANKS] = {WEFT_FRAME_CHILD, WEFT_FRAME_CHILD, WEFT_FRAME_WELCOME};
    static const uint32_t ranks[RANKS] = {1, 2, 0};
    uint8_t message[RANKS * (WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST) + 1];
    scene_t scene = {.far = {-1, -1, -1}};
    int ends[2];
    (void)state;
    scene_begin(&scene);
    for (uint32_t r = 0; r < RANKS; r++) {
        scene.table.seats[r].request = scene_request(r, false);
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    scene.table.seats[0].join = ends[0];
    scene.far[0] = ends[1];
    assert_int_equal(weft_root_welcome(&scene.table, 0), 0);
    assert_int_equal(recv(scene.far[0], message, sizeof message, 0), sizeof message - 1);
    for (uint32_t i = 0; i < RANKS; i++) {
        const uint8_t *at = message + i * (WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST);
        weft_frame_t frame;
        weft_join_request_t request;
        const char *why;
        assert_int_equal(weft_frame_decode(at, RANKS, 7, &frame, &why), WEFT_OK);
        assert_int_equal(frame.type, types[i]);
        assert_int_equal(weft_join_request_decode(at + WEFT_WIRE_HEADER, &request, &why), WEFT_OK);
        assert_int_equal(request.rank, ranks[i]);
        assert_int_equal(request.pid, scene_request(ranks[i], false).pid);
    }
    scene_end(&scene);
}

/* The send takes the error of the socket, and a read after it would find the end of the stream. */
static void a_welcome_finds_that_a_connection_is_broken(void **state)
{
    scene_t scene = {.far = {-1, -1, -1}};
    int ends[2];
    (void)state;
    scene_fail(&scene, WEFT_ERR_LINK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    scene.table.seats[1].join = ends[0];
    assert_int_equal(weft_root_welcome(&scene.table, 1), 0);
    close(ends[1]);
    assert_int_equal(weft_root_welcome(&scene.table, 1), EPIPE);
    close(ends[0]);
    scene.table.seats[1].join = -1;
    scene_end(&scene);
}

/* A claim of `rank`; the other end of one before it is closed. */
static void scene_claim(scene_t *scene, uint32_t rank)
{
    int ends[2];
    char text[200];
    const weft_root_seat_t *other = NULL;
    weft_join_request_t request = scene_request(rank, false);
    assert_int_equal(weft_root_check(&scene->table, &request, false, text, sizeof text, &other),
                     WEFT_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    close(scene->far[rank]);
    scene->far[rank] = ends[1];
    weft_root_take_claim(&scene->table, ends[0], &request);
    weft_root_answer_claim(&scene->table, rank);
}

/* A reset took what was said to it, or what it said. */
static void a_claim_that_comes_again_counts_once_and_hears_what_it_missed(void **state)
{
    scene_t scene = {.far = {-1, -1, -1}};
    weft_join_request_t other = scene_request(1, true);
    const weft_root_seat_t *seat = NULL;
    char text[200];
    (void)state;
    scene_begin(&scene);
    for (uint32_t r = 0; r < RANKS; r++) {
        scene_claim(&scene, r == 2 ? 1 : r);
    }
    assert_int_equal(scene.table.claimed, 2);
    assert_false(scene_told(&scene, 0));
    scene_claim(&scene, 2);
    assert_true(scene_told(&scene, 0));
    scene_claim(&scene, 0);
    assert_true(scene_told(&scene, 0));
    assert_false(scene_told(&scene, 1));
    weft_root_release_claims(&scene.table);
    assert_true(scene_told(&scene, 1));
    scene_claim(&scene, 1);
    assert_true(scene_told(&scene, 1));
    assert_int_equal(scene.table.seats[1].claim, -1);
    assert_int_equal(weft_root_check(&scene.table, &other, false, text, sizeof text, &seat),
                     WEFT_ERR_ARG);
    scene_end(&scene);
}

/* As above: the read finds an end, which is not the rank's. */
static void an_answer_finds_that_a_claim_is_broken(void **state)
{
    scene_t scene = {.far = {-1, -1, -1}};
    (void)state;
    scene_begin(&scene);
    scene_claim(&scene, 0);
    scene_claim(&scene, 1);
    close(scene.far[0]);
    scene.far[0] = -1;
    scene_claim(&scene, 2);
    assert_int_not_equal(scene.table.seats[0].claim_broke, 0);
    close(scene.far[1]);
    scene.far[1] = -1;
    weft_root_release_claims(&scene.table);
    assert_true(scene.table.seats[1].claim_broke != 0 && scene.table.seats[1].claim >= 0);
    assert_int_equal(scene.table.seats[2].claim_broke, 0);
    scene_claim(&scene, 1);
    assert_int_equal(scene.table.seats[1].claim_broke, 0);
    assert_true(scene_told(&scene, 1));
    scene_end(&scene);
}

#define AWAY (7 * WEFT_NS_PER_S)

/* A rank that has said no port yet, as one with a claim. */
static void a_reset_is_no_death_where_nobody_can_be_knocked_at(void **unused)
{
    (void)unused;
    scene_t scene;
    scene_begin(&scene);
    weft_root_seat_t *seat = &scene.table.seats[1];
    scene.table.away = AWAY;
    weft_root_seat_lose(&scene.table, seat, ECONNRESET);
    uint64_t now = weft_os_clock_ns();
    assert_false(weft_root_seat_is_dead(&scene.table, seat, now + AWAY / 2));
    assert_true(weft_root_seat_is_dead(&scene.table, seat, now + AWAY));
    scene_end(&scene);
}

/* Its listener is served until the knock has been answered. */
static void scene_be_knocked_at(scene_t *scene, weft_root_seat_t *seat,
                                weft_control_listener_t *listener)
{
    for (int i = 0; i < 2000 && seat->knock != NULL; i++) {
        int fd;
        uint8_t label[WEFT_AUTH_LABEL];
        struct pollfd entry = {.revents = POLLIN};
        assert_false(weft_root_seat_is_dead(&scene->table, seat, weft_os_clock_ns()));
        while (weft_control_listener_poll(listener, &entry, &fd, label) == WEFT_OK) {
            weft_os_close(fd);
        }
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    assert_null(seat->knock);
}

/* It answered, and another cut keeps it away: or it has died since, and then nobody listens. */
static void who_has_answered_a_knock_is_knocked_at_again(void **unused)
{
    (void)unused;
    scene_t scene;
    weft_control_listener_t listener = {.port = 0};
    scene_begin(&scene);
    weft_root_seat_t *seat = &scene.table.seats[1];
    scene.table.away = AWAY;
    assert_int_equal(weft_control_listener_open(&listener, "test", scene.table.tree_key), WEFT_OK);
    seat->request.addrs[0] =
        (weft_os_addr_t){.family = 4, .bytes = {127, 0, 0, 1}, .port = listener.port};
    weft_root_seat_lose(&scene.table, seat, ECONNRESET);
    scene_be_knocked_at(&scene, seat, &listener);
    assert_false(weft_root_seat_is_dead(&scene.table, seat, weft_os_clock_ns() + AWAY / 2));
    assert_non_null(seat->knock);
    scene_be_knocked_at(&scene, seat, &listener);
    weft_control_listener_close(&listener);
    assert_false(weft_root_seat_is_dead(&scene.table, seat, weft_os_clock_ns() + AWAY / 2));
    bool dead = false;
    for (int i = 0; i < 2000 && !dead; i++) {
        dead = weft_root_seat_is_dead(&scene.table, seat, weft_os_clock_ns());
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    assert_true(dead);
    scene_end(&scene);
}

/* Here they claim first, there they join at once. */
static void who_has_claimed_is_missed_where_nobody_else_will(void **unused)
{
    (void)unused;
    scene_t scene;
    char text[64];
    uint32_t first;
    memset(&scene, 0xff, sizeof scene);
    scene_begin(&scene);
    scene.table.seats[1].claimed = true;
    scene.table.claimed = 1;
    scene.table.seats[0].arrived = true;
    assert_int_equal(weft_root_missing(&scene.table, false, text, sizeof text, &first), 1);
    assert_string_equal(text, "2");
    scene.table.seats[2].arrived = true;
    assert_int_equal(weft_root_missing(&scene.table, false, text, sizeof text, &first), 1);
    assert_int_equal(first, 1);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_claimed_is_missed_where_nobody_else_will),
        cmocka_unit_test(a_late_rank_of_the_own_process_is_told_after_the_others),
        cmocka_unit_test(whose_first_message_was_wrong_is_not_waited_for),
        cmocka_unit_test(whoever_comes_late_puts_off_the_end_of_the_own_process),
        cmocka_unit_test(the_own_process_is_told_in_the_end_whoever_is_missing),
        cmocka_unit_test(who_waits_for_a_neighbour_is_not_missed),
        cmocka_unit_test(a_header_in_pieces_is_put_together),
        cmocka_unit_test(a_failure_in_pieces_is_put_together),
        cmocka_unit_test(a_welcome_tells_the_children_and_then_the_parent),
        cmocka_unit_test(a_welcome_finds_that_a_connection_is_broken),
        cmocka_unit_test(a_claim_that_comes_again_counts_once_and_hears_what_it_missed),
        cmocka_unit_test(an_answer_finds_that_a_claim_is_broken),
        cmocka_unit_test(a_reset_is_no_death_where_nobody_can_be_knocked_at),
        cmocka_unit_test(who_has_answered_a_knock_is_knocked_at_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
