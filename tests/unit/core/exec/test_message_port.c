/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a message port: what was used of its slots, and no more. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/exec/message_port.h"
#include "tests/support/loaded_net.h"
#include "tests/support/unit.h"

enum { SLOTS = 4, SLOT_BYTES = 512 << 10 };

static weft_status_t fake_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                               uint32_t *posted_p)
{
    (void)conn;
    (void)ops;
    *posted_p = count;
    return WEFT_OK;
}

static const weft_net_ops_t fake_ops = {.size = sizeof fake_ops, .post = fake_post};

static size_t resident_bytes(uint8_t *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page, resident = 0;
    unsigned char *in = calloc(pages, 1);
    assert_int_equal(mincore(memory, bytes, in), 0);
    for (size_t i = 0; i < pages; i++) {
        resident += (in[i] & 1u) * page;
    }
    free(in);
    return resident;
}

/* A rank of 256 has hundreds of ports. Huge pages would give 2 MiB to each that sends a byte. */
static void small_messages_take_small_pages(void **state)
{
    weft_poll_list_t list = {.first = NULL};
    weft_message_port_t port;
    weft_message_port_params_t params = {.loaded = &loaded_net,
                                         .net = &fake_ops,
                                         .list = &list,
                                         .slot_bytes = SLOT_BYTES,
                                         .slots = SLOTS,
                                         .sends = true};
    (void)state;
    assert_int_equal(weft_message_port_init(&port, &params), WEFT_OK);
    assert_true(port.memory_bytes >= 2 << 20);
    for (uint32_t i = 0; i < SLOTS; i++) {
        memset(port.port.payloads + i * port.port.stride, 1, 8);
    }
    /* A slot has its header and the first bytes on one or two pages. */
    size_t most = 2 * SLOTS * (size_t)sysconf(_SC_PAGESIZE);
    assert_in_range(resident_bytes(port.memory, port.memory_bytes), 1, most);
    weft_message_port_fini(&port.port);
}

static uint32_t posts;

static weft_status_t post_too_many(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                   uint32_t *posted_p)
{
    (void)conn;
    (void)ops;
    posts++;
    *posted_p = count + 1;
    return WEFT_OK;
}

static weft_status_t post_nonsense(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                   uint32_t *posted_p)
{
    (void)conn;
    (void)ops;
    (void)count;
    *posted_p = 0;
    return (weft_status_t)77;
}

/* A message that is sent through a plugin whose post is this one: the status, and the text. */
static void sent_by(weft_status_t (*post)(weft_net_conn_t *, const weft_net_op_t *, uint32_t,
                                          uint32_t *),
                    const char *text)
{
    static const weft_signature_t signature;
    static const weft_plugin_t plugin = {.name = "net-x"};
    const weft_loaded_t loaded = {.plugin = &plugin, .path = "/there/net-x.so"};
    const weft_net_ops_t ops = {.size = sizeof ops, .post = post};
    weft_poll_list_t list = {.first = NULL};
    weft_message_port_t port;
    weft_message_port_params_t params = {.loaded = &loaded,
                                         .net = &ops,
                                         .list = &list,
                                         .slot_bytes = SLOT_BYTES,
                                         .slots = SLOTS,
                                         .sends = true};
    assert_int_equal(weft_message_port_init(&port, &params), WEFT_OK);
    assert_int_equal(weft_message_port_send(&port.port, &signature, 8), WEFT_ERR_PLUGIN);
    assert_string_equal(weft_error_record()->text, text);
    assert_int_equal(port.port.broken, WEFT_ERR_PLUGIN);
    weft_message_port_fini(&port.port);
}

/* It would make the port post without end. */
static void a_post_of_more_than_there_is_breaks_the_port(void **state)
{
    (void)state;
    sent_by(post_too_many, "net-x: post stored 2 in *posted_p, expected at most 1");
    assert_int_equal(posts, 1);
}

static void a_post_that_returns_no_status_breaks_the_port(void **state)
{
    (void)state;
    sent_by(post_nonsense,
            "net-x: post returned 77, expected OK, AGAIN or an error (/there/net-x.so)");
}

static weft_status_t post_fails(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                                uint32_t *posted_p)
{
    (void)conn;
    (void)ops;
    (void)count;
    *posted_p = 0;
    return weft_fail(WEFT_ERR_LINK, 0, "the cable is out");
}

/* By the time that somebody looks, the record of the thread is of something else. */
static void a_broken_port_keeps_its_reason(void **state)
{
    static const weft_signature_t signature;
    static const weft_plugin_t plugin = {.name = "net-x"};
    const weft_loaded_t loaded = {.plugin = &plugin, .path = "/there/net-x.so"};
    const weft_net_ops_t ops = {.size = sizeof ops, .post = post_fails};
    weft_poll_list_t list = {.first = NULL};
    weft_message_port_t port;
    weft_message_port_params_t params = {.loaded = &loaded,
                                         .net = &ops,
                                         .list = &list,
                                         .slot_bytes = SLOT_BYTES,
                                         .slots = SLOTS,
                                         .sends = true};
    bool moved = false;
    (void)state;
    assert_int_equal(weft_message_port_init(&port, &params), WEFT_OK);
    assert_int_equal(weft_message_port_send(&port.port, &signature, 8), WEFT_ERR_LINK);
    weft_fail(WEFT_ERR_ARG, 0, "something else");
    assert_int_equal(weft_message_port_flush(&port.port, &moved), WEFT_ERR_LINK);
    assert_string_equal(weft_error_record()->text, "the cable is out");
    weft_fail(WEFT_ERR_ARG, 0, "something else");
    weft_message_port_recall(&port.port);
    assert_int_equal(weft_error_record()->status, WEFT_ERR_LINK);
    weft_message_port_fini(&port.port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_messages_take_small_pages),
        cmocka_unit_test(a_post_of_more_than_there_is_breaks_the_port),
        cmocka_unit_test(a_post_that_returns_no_status_breaks_the_port),
        cmocka_unit_test(a_broken_port_keeps_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
