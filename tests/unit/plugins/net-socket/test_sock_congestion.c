/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit tests of net-socket: which congestion control its sockets get. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock_congestion.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

static const char *control_of(int fd)
{
    static char name[SOCK_CONGESTION_NAME];
    socklen_t bytes = sizeof name - 1;
    memset(name, 0, sizeof name);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes), 0);
    return name;
}

static int new_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    return fd;
}

static void find(const char *wanted, weft_status_t expected, sock_congestion_t *found,
                 const char *text)
{
    fake_host_t fake;
    fake_host_init(&fake, "test");
    assert_int_equal(sock_congestion_find(&fake.host, wanted, found), expected);
    if (text != NULL) {
        assert_non_null(strstr(fake.error, text));
    }
    fake_host_fini(&fake);
}

/* Every kernel has reno, and every user may choose it. */
static void a_name_is_for_all_sockets(void **state)
{
    (void)state;
    sock_congestion_t found;
    int fd = new_socket();
    find("reno", WEFT_OK, &found, NULL);
    sock_congestion_set(&found, fd);
    assert_string_equal(control_of(fd), "reno");
    assert_string_equal(found.far, "");
    close(fd);
}

static void the_systems_is_left_alone(void **state)
{
    (void)state;
    sock_congestion_t found;
    int fd = new_socket(), other = new_socket();
    find("system", WEFT_OK, &found, NULL);
    sock_congestion_set(&found, fd);
    assert_string_equal(found.all, "");
    char before[SOCK_CONGESTION_NAME];
    strcpy(before, control_of(fd));
    assert_string_equal(control_of(other), before);
    close(fd);
    close(other);
}

static void auto_leaves_alone_what_does_not_pace(void **state)
{
    (void)state;
    sock_congestion_t found;
    int fd = new_socket();
    char system[SOCK_CONGESTION_NAME];
    strcpy(system, control_of(fd));
    close(fd);
    find("auto", WEFT_OK, &found, NULL);
    assert_int_equal(found.all[0] != '\0', sock_congestion_paces(system));
    assert_string_equal(found.far, found.all[0] != '\0' ? system : "");
    assert_true(sock_congestion_paces("bbr"));
    assert_true(sock_congestion_paces("bbr2"));
    assert_false(sock_congestion_paces("cubic"));
    assert_false(sock_congestion_paces("dctcp"));
}

static void an_unknown_name_is_told_with_those_there_are(void **state)
{
    (void)state;
    sock_congestion_t found;
    find("cubik", WEFT_ERR_CONFIG, &found, "reno");
    find("a_name_that_is_far_too_long", WEFT_ERR_CONFIG, &found, "a_name_that_is_far_too_long");
    find("", WEFT_ERR_CONFIG, &found, "auto, system");
}

/* Two ends over the loopback: near by the real threshold, far by one of nothing. */
static void far_connections_go_back_to_the_systems(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    sock_congestion_t found = {.all = "reno", .far = "cubic", .far_us = 5000};
    int listener = new_socket(), fd = new_socket();
    strcpy(found.far, control_of(fd));
    sock_congestion_set(&found, listener);
    sock_congestion_set(&found, fd);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    int accepted = accept(listener, NULL, NULL);
    assert_true(accepted >= 0);
    assert_string_equal(control_of(accepted), "reno");
    sock_congestion_settle(&found, fd);
    assert_string_equal(control_of(fd), "reno");
    found.far_us = 0;
    sock_congestion_settle(&found, fd);
    assert_string_equal(control_of(fd), found.far);
    close(accepted);
    close(listener);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_for_all_sockets),
        cmocka_unit_test(the_systems_is_left_alone),
        cmocka_unit_test(auto_leaves_alone_what_does_not_pace),
        cmocka_unit_test(an_unknown_name_is_told_with_those_there_are),
        cmocka_unit_test(far_connections_go_back_to_the_systems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
