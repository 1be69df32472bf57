/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI-1 against servers that are right, broken and hostile: a thread at the other end of a
 * socketpair follows a script. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/pmi_wire.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

#define ID_DIGITS (WEFT_ID_HEX - 1)

/* What the server does with the line that begins with `asked`: sends `bytes` of `text`, then closes
 * or goes on. A script ends with an entry of zeros; a line that is in no entry gets no answer. */
typedef struct answer {
    const char *asked, *text;
    size_t bytes; /* 0: all of the text */
    bool closes;
} answer_t;

typedef struct server {
    const answer_t *script;
    int fd;
} server_t;

static void *serve(void *arg)
{
    server_t *server = arg;
    char line[2048];
    size_t at = 0;
    while (recv(server->fd, line + at, 1, 0) == 1) {
        if (line[at++] != '\n') {
            continue;
        }
        line[at] = '\0';
        at = 0;
        for (const answer_t *a = server->script; a->asked != NULL; a++) {
            if (strncmp(line, a->asked, strlen(a->asked)) != 0) {
                continue;
            }
            if (a->text != NULL) {
                (void)!send(server->fd, a->text, a->bytes != 0 ? a->bytes : strlen(a->text),
                            MSG_NOSIGNAL);
            }
            if (a->closes) {
                shutdown(server->fd, SHUT_RDWR);
            }
            break;
        }
    }
    return NULL;
}

#define INIT                                                                                       \
    {                                                                                              \
        "cmd=init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n", 0, false         \
    }
#define MAXES                                                                                      \
    {                                                                                              \
        "cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n", 0, false     \
    }
#define NAME                                                                                       \
    {                                                                                              \
        "cmd=get_my_kvsname", "cmd=my_kvsname rc=0 kvsname=kvs_1\n", 0, false                      \
    }
#define PUT                                                                                        \
    {                                                                                              \
        "cmd=put", "cmd=put_result rc=0 msg=success\n", 0, false                                   \
    }
#define BARRIER                                                                                    \
    {                                                                                              \
        "cmd=barrier_in", "cmd=barrier_out rc=0\n", 0, false                                       \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, NULL, 0, false                                                                       \
    }

/* Runs begin and carry against the script. */
static weft_status_t talk_within(const answer_t *script, bool gives, weft_unique_id_t *id,
                                 uint64_t answer_ns)
{
    int fds[2];
    pthread_t thread;
    server_t server = {.script = script};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    server.fd = fds[1];
    pthread_create(&thread, NULL, serve, &server);
    weft_pmi_wire_t wire = {.fd = fds[0],
                            .launcher = "hydra",
                            .until = weft_os_clock_ns() + 5 * answer_ns,
                            .answer_ns = answer_ns};
    weft_status_t status = weft_pmi_begin(&wire);
    if (status == WEFT_OK) {
        status = weft_pmi_carry(&wire, "weft-id-0", gives, id);
    }
    shutdown(fds[0], SHUT_RDWR);
    pthread_join(thread, NULL);
    close(fds[0]);
    close(fds[1]);
    return status;
}

/* With a server that says all it has to, if slowly on a busy machine. */
static weft_status_t talk(const answer_t *script, bool gives, weft_unique_id_t *id)
{
    return talk_within(script, gives, id, 10 * WEFT_NS_PER_S);
}

/* The text names the launcher, the line that was asked, and what the server did. */
static void expect_within(const answer_t *script, weft_status_t wanted, const char *asked,
                          const char *did, uint64_t answer_ns)
{
    weft_unique_id_t id, before;
    memset(&id, 7, sizeof id);
    before = id;
    weft_status_t status = talk_within(script, false, &id, answer_ns);
    const char *text = weft_error_record()->text;
    if (status != wanted || strstr(text, "hydra") == NULL || strstr(text, asked) == NULL ||
        strstr(text, did) == NULL) {
        fail_msg("%s: %s", weft_status_name(status), text);
    }
    assert_memory_equal(&id, &before, sizeof id);
}

static void expect(const answer_t *script, weft_status_t wanted, const char *asked, const char *did)
{
    expect_within(script, wanted, asked, did, 10 * WEFT_NS_PER_S);
}

static void make_value(char *text, size_t bytes, size_t digits)
{
    size_t at = (size_t)snprintf(text, bytes, "cmd=get_result rc=0 msg=success value=");
    memset(text + at, 'a', digits);
    snprintf(text + at + digits, bytes - at - digits, "\n");
}

static void an_id_goes_through_a_server_that_is_right(void **unused)
{
    char value[1024];
    weft_unique_id_t id, wanted;
    (void)unused;
    make_value(value, sizeof value, ID_DIGITS);
    const answer_t script[] = {INIT, MAXES, NAME, PUT, BARRIER, {"cmd=get ", value, 0, false}, END};
    memset(&wanted, 0xaa, sizeof wanted);
    assert_int_equal(talk(script, false, &id), WEFT_OK);
    assert_memory_equal(&id, &wanted, sizeof id);
    assert_int_equal(talk(script, true, &id), WEFT_OK);
    assert_memory_equal(&id, &wanted, sizeof id);
}

static void a_server_that_closes_is_named(void **unused)
{
    (void)unused;
    const answer_t at_once[] = {{"cmd=init", NULL, 0, true}, END};
    expect(at_once, WEFT_ERR_LINK, "cmd=init", "closed");
    const answer_t at_barrier[] = {INIT, MAXES, NAME, {"cmd=barrier_in", NULL, 0, true}, END};
    expect(at_barrier, WEFT_ERR_LINK, "cmd=barrier_in", "closed");
    const answer_t half[] = {{"cmd=init", "cmd=resp", 0, true}, END};
    expect(half, WEFT_ERR_LINK, "cmd=init", "closed in the middle");
}

static void rubbish_is_shown(void **unused)
{
    (void)unused;
    const answer_t rubbish[] = {{"cmd=init", "HTTP/1.1 400 \x01 Bad Request\n", 0, false}, END};
    expect(rubbish, WEFT_ERR_PROTO, "cmd=init", "\"HTTP/1.1 400 ? Bad Request\"");
    const answer_t zeros[] = {{"cmd=init", "cmd=response_to_init\0 rc=0\n", 27, false}, END};
    expect(zeros, WEFT_ERR_PROTO, "cmd=init", "cmd=response_to_init");
    const answer_t refused[] = {{"cmd=init", "cmd=response_to_init rc=1\n", 0, false}, END};
    expect(refused, WEFT_ERR_PROTO, "cmd=init", "rc=1");
    const answer_t two[] = {{"cmd=init", "cmd=response_to_init rc=0\ncmd=maxes", 0, false}, END};
    expect(two, WEFT_ERR_PROTO, "cmd=init", "more than one line");
    const answer_t empty[] = {{"cmd=init", "\n", 0, false}, END};
    expect(empty, WEFT_ERR_PROTO, "cmd=init", "\"\"");
}

static void a_line_of_a_megabyte_is_cut_off(void **unused)
{
    size_t bytes = (size_t)1 << 20;
    char *line = malloc(bytes);
    (void)unused;
    memset(line, 'x', bytes);
    const answer_t script[] = {{"cmd=init", line, bytes, false}, END};
    expect(script, WEFT_ERR_PROTO, "cmd=init", "does not end");
    free(line);
}

static void a_value_of_another_length_is_no_id(void **unused)
{
    static const size_t digits[] = {0, 1, ID_DIGITS - 1, ID_DIGITS + 1, 900, 3000};
    char value[4000];
    (void)unused;
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
        char says[32];
        make_value(value, sizeof value, digits[i]);
        snprintf(says, sizeof says, "gave %zu characters", digits[i]);
        const answer_t script[] = {INIT, MAXES, NAME, BARRIER, {"cmd=get ", value, 0, false}, END};
        expect(script, WEFT_ERR_PROTO, "weft-id-0", says);
    }
    snprintf(value, sizeof value, "cmd=get_result rc=0 value=xyz\n");
    const answer_t script[] = {INIT, MAXES, NAME, BARRIER, {"cmd=get ", value, 0, false}, END};
    expect(script, WEFT_ERR_PROTO, "weft-id-0", "gave 3 characters");
}

static void a_missing_value_is_shown_as_the_server_says_it(void **unused)
{
    (void)unused;
    const answer_t script[] = {INIT,
                               MAXES,
                               NAME,
                               BARRIER,
                               {"cmd=get ", "cmd=get_result rc=-1 msg=key_not_found\n", 0, false},
                               END};
    expect(script, WEFT_ERR_PROTO, "cmd=get", "key_not_found");
}

static void a_server_with_short_values_is_refused(void **unused)
{
    (void)unused;
    const answer_t small[] = {INIT, {"cmd=get_maxes", "cmd=maxes vallen_max=255\n", 0, false}, END};
    expect(small, WEFT_ERR_UNSUPPORTED, "255", "256");
    const answer_t none[] = {INIT, {"cmd=get_maxes", "cmd=maxes\n", 0, false}, END};
    expect(none, WEFT_ERR_PROTO, "cmd=get_maxes", "\"cmd=maxes\"");
    const answer_t text[] = {INIT, {"cmd=get_maxes", "cmd=maxes vallen_max=x\n", 0, false}, END};
    expect(text, WEFT_ERR_UNSUPPORTED, "0 characters", "256");
}

static void a_server_that_does_not_answer_has_a_deadline(void **unused)
{
    (void)unused;
    uint64_t start = weft_os_clock_ns();
    const answer_t silent[] = {END};
    const uint64_t soon = 200 * WEFT_NS_PER_MS;
    expect_within(silent, WEFT_ERR_TIMEOUT, "cmd=init", "does not answer", soon);
    const answer_t alone[] = {INIT, MAXES, NAME, END};
    expect_within(alone, WEFT_ERR_TIMEOUT, "cmd=barrier_in", "not all ranks came", soon);
    assert_true(weft_os_clock_ns() - start < 20 * WEFT_NS_PER_S);
}

static void a_descriptor_that_is_no_socket_is_named(void **unused)
{
    int pipe_fds[2];
    (void)unused;
    assert_int_equal(pipe(pipe_fds), 0);
    weft_pmi_wire_t wire = {.fd = pipe_fds[1],
                            .launcher = "hydra",
                            .until = weft_os_deadline(1),
                            .answer_ns = 200 * WEFT_NS_PER_MS};
    assert_int_equal(weft_pmi_begin(&wire), WEFT_ERR_LINK);
    assert_non_null(strstr(weft_error_record()->text, "cannot be asked"));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    assert_true(weft_pmi_begin(&wire) != WEFT_OK);
}

/* Answers that are right but for a few bytes: changed, lost, doubled, cut off, or followed by a
 * close. Each round is one conversation and depends on its number only. */
static uint32_t fuzz_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static size_t fuzz_line(uint32_t *state, char *line, size_t bytes, size_t room)
{
    for (uint32_t change = fuzz_random(state) % 3; change > 0 && bytes > 1; change--) {
        size_t at = fuzz_random(state) % bytes, length = 1 + fuzz_random(state) % 16;
        length = at + length > bytes ? bytes - at : length;
        switch (fuzz_random(state) % 5) {
        case 0:
            line[at] = (char)fuzz_random(state);
            break;
        case 1:
            memmove(line + at, line + at + length, bytes - at - length);
            bytes -= length;
            break;
        case 2:
            if (bytes + length <= room) {
                memmove(line + at + length, line + at, bytes - at);
                bytes += length;
            }
            break;
        case 3:
            bytes = at + 1;
            break;
        default:
            line[at] = " =\n0"[fuzz_random(state) % 4];
        }
    }
    return bytes;
}

static void no_answer_does_harm(void **unused)
{
    enum { ROUNDS = 600, LINES = 6, ROOM = 600 };
    static const char *const asked[LINES] = {"cmd=init", "cmd=get_maxes",  "cmd=get_my_kvsname",
                                             "cmd=put",  "cmd=barrier_in", "cmd=get "};
    char value[400], lines[LINES][ROOM];
    uint32_t right = 0;
    (void)unused;
    make_value(value, sizeof value, ID_DIGITS);
    const answer_t good[] = {INIT, MAXES, NAME, PUT, BARRIER, {"cmd=get ", value, 0, false}};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t state = round;
        answer_t script[LINES + 1] = {{NULL, NULL, 0, false}};
        weft_unique_id_t id;
        uint32_t victim = fuzz_random(&state) % LINES;
        for (uint32_t i = 0; i < LINES; i++) {
            size_t bytes = strlen(good[i].text);
            memcpy(lines[i], good[i].text, bytes);
            if (i == victim) {
                bytes = fuzz_line(&state, lines[i], bytes, ROOM);
            }
            /* Of a line that was cut to nothing, nothing is sent. */
            script[i] = (answer_t){asked[i], bytes > 0 ? lines[i] : NULL, bytes,
                                   i == victim && fuzz_random(&state) % 8 == 0};
        }
        weft_status_t status = talk_within(script, false, &id, 20 * WEFT_NS_PER_MS);
        right += status == WEFT_OK;
        if (status != WEFT_OK && strstr(weft_error_record()->text, "hydra") == NULL) {
            fail_msg("round %u: %s: %s", round, weft_status_name(status),
                     weft_error_record()->text);
        }
    }
    assert_in_range(right, 1, ROUNDS - 1); /* both are tried */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_goes_through_a_server_that_is_right),
        cmocka_unit_test(a_server_that_closes_is_named),
        cmocka_unit_test(rubbish_is_shown),
        cmocka_unit_test(a_line_of_a_megabyte_is_cut_off),
        cmocka_unit_test(a_value_of_another_length_is_no_id),
        cmocka_unit_test(a_missing_value_is_shown_as_the_server_says_it),
        cmocka_unit_test(a_server_with_short_values_is_refused),
        cmocka_unit_test(a_server_that_does_not_answer_has_a_deadline),
        cmocka_unit_test(a_descriptor_that_is_no_socket_is_named),
        cmocka_unit_test(no_answer_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
