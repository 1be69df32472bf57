/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registered memory of net-nccl, over the tests' network plugin: memory of the host, of a GPU,
 * which is flushed before it is handed out, and dma-bufs; what is registered when, and given back.
 * And the end of a connection with receives under way. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weft/plugin/net.h>

#include "foreign.h"
#include "tests/support/connections.h"
#include "tests/support/fake_host.h"
#include "tests/support/unit.h"

enum { BYTES = 4096 };

typedef struct fixture {
    fake_host_t fake;
    void *config;
    const weft_net_ops_t *ops;
    weft_net_t *net;
    weft_net_device_t *device;
    weft_net_listener_t *listener;
    weft_net_conn_t *from, *to;
    foreign_counts_t *counts;
    uint8_t out[BYTES], in[BYTES];
} fixture_t;

static void connect_both(fixture_t *f)
{
    weft_net_address_t address;
    weft_net_conn_params_t params = {.size = sizeof params};
    assert_int_equal(f->ops->device_open(f->net, 0, &f->device), WEFT_OK);
    assert_int_equal(f->ops->listen(f->device, &address, &f->listener), WEFT_OK);
    assert_int_equal(f->ops->connect_begin(f->device, &address, &params, &f->from), WEFT_OK);
    weft_status_t there = WEFT_IN_PROGRESS, here = WEFT_AGAIN;
    time_t end = time(NULL) + 60;
    while ((there == WEFT_IN_PROGRESS || here == WEFT_AGAIN) && time(NULL) < end) {
        there = there == WEFT_IN_PROGRESS ? f->ops->connect_poll(f->from) : there;
        here = here == WEFT_AGAIN ? f->ops->accept(f->listener, &f->to) : here;
    }
    assert_int_equal(there, WEFT_OK);
    assert_int_equal(here, WEFT_OK);
}

static int set_up_over(void **state, const char *library)
{
    char setting[4096];
    const char *const settings[] = {setting, "interfaces=lo", NULL};
    char why[300];
    snprintf(setting, sizeof setting, "library=%s", library);
    fixture_t *f = calloc(1, sizeof *f);
    assert_non_null(f);
    fake_host_init(&f->fake, "net-nccl");
    const weft_plugin_t *plugin = fake_plugin_open(PLUGIN, WEFT_KIND_NET, why, sizeof why);
    assert_non_null(plugin);
    f->ops = plugin->ops;
    f->config = fake_config_create(plugin, settings, why, sizeof why);
    assert_non_null(f->config);
    setenv("FOREIGN_CUDA", "1", 1);
    f->counts = dlsym(dlopen(library, RTLD_NOW), "foreign_counts");
    assert_non_null(f->counts);
    memset(f->counts, 0, sizeof *f->counts);
    assert_int_equal(f->ops->create(&f->fake.host, f->config, &f->net), WEFT_OK);
    connect_both(f);
    *state = f;
    return 0;
}

static int set_up(void **state)
{
    return set_up_over(state, LIBRARY);
}

static int set_up_old(void **state)
{
    return set_up_over(state, OLD_LIBRARY);
}

static int tear_down(void **state)
{
    fixture_t *f = *state;
    f->ops->conn_close(f->from);
    f->ops->conn_close(f->to);
    f->ops->listener_close(f->listener);
    f->ops->device_close(f->device);
    f->ops->destroy(f->net);
    assert_int_equal(f->counts->registered, 0);
    assert_int_equal(atomic_load(&f->fake.live), 0);
    fake_config_destroy(f->config);
    fake_host_fini(&f->fake);
    free(f);
    return 0;
}

/* One message of `bytes` bytes; the regions may be NULL. */
static void pass(fixture_t *f, uint64_t bytes, weft_net_region_t *from, weft_net_region_t *to)
{
    weft_net_op_t send = {
        .kind = WEFT_NET_SEND, .buffer = f->out, .bytes = bytes, .region = from, .context = f};
    weft_net_op_t receive = {
        .kind = WEFT_NET_RECV, .buffer = f->in, .bytes = BYTES, .region = to, .context = f};
    uint32_t posted = 0, done = 0, count;
    memset(f->out, 0x5a, BYTES);
    memset(f->in, 0, BYTES);
    assert_int_equal(f->ops->post(f->to, &receive, 1, &posted), WEFT_OK);
    assert_int_equal(f->ops->post(f->from, &send, 1, &posted), WEFT_OK);
    time_t end = time(NULL) + 60;
    while (done < 2 && time(NULL) < end) {
        weft_net_completion_t list[4];
        assert_int_equal(f->ops->poll(f->device, list, 4, &count), WEFT_OK);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(list[i].status, WEFT_OK);
            assert_int_equal(list[i].bytes, bytes);
        }
        done += count;
    }
    assert_int_equal(done, 2);
    assert_memory_equal(f->in, f->out, bytes);
}

/* A firewall that keeps states forgets a connection over which nothing goes. Those of the library
 * are its own. */
static void control_streams_are_kept_alive(void **state)
{
    long kept = 0;
    (void)state;
    assert_true(connections_count(&kept) >= 2);
    assert_int_equal(kept, 2); /* both ends of one */
}

static void a_region_is_registered_once_per_connection(void **state)
{
    fixture_t *f = *state;
    weft_net_region_t *from = NULL, *to = NULL;
    assert_int_equal(f->ops->reg(f->device, f->out, BYTES, WEFT_MEMORY_HOST, &from), WEFT_OK);
    assert_int_equal(f->ops->reg(f->device, f->in, BYTES, WEFT_MEMORY_HOST, &to), WEFT_OK);
    assert_int_equal(f->counts->host, 0);
    for (int i = 0; i < 20; i++) {
        pass(f, 100, from, to);
    }
    assert_int_equal(f->counts->host, 2);
    assert_int_equal(f->counts->flushes, 0);
    f->ops->dereg(from);
    f->ops->dereg(to);
    assert_int_equal(f->counts->registered, 0);

    /* A region at the address of an old one is another one. */
    assert_int_equal(f->ops->reg(f->device, f->out, BYTES, WEFT_MEMORY_HOST, &from), WEFT_OK);
    pass(f, 100, from, NULL);
    assert_int_equal(f->counts->host, 4);
    f->ops->dereg(from);
}

static void many_regions_are_found(void **state)
{
    enum { MANY = 20 };
    fixture_t *f = *state;
    weft_net_region_t *regions[MANY];
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(f->ops->reg(f->device, f->out, BYTES, WEFT_MEMORY_HOST, &regions[i]),
                         WEFT_OK);
    }
    for (int i = 0; i < 3 * MANY; i++) {
        pass(f, 10, regions[i % MANY], NULL);
    }
    /* Those of single operations are given back with them. */
    assert_int_equal(f->counts->registered, MANY);
    for (int i = 0; i < MANY; i++) {
        f->ops->dereg(regions[i]);
    }
}

static void memory_of_a_gpu_is_flushed(void **state)
{
    fixture_t *f = *state;
    weft_net_region_t *region = NULL;
    weft_net_props_t props = {.size = sizeof props};
    assert_int_equal(f->ops->device_props(f->net, 0, &props), WEFT_OK);
    assert_int_equal(props.memory_kinds, WEFT_MEMORY_HOST | WEFT_MEMORY_CUDA);
    assert_int_equal(props.flush_needed, 0); /* it is done here */
    assert_int_equal(f->ops->reg(f->device, f->in, BYTES, WEFT_MEMORY_CUDA, &region), WEFT_OK);
    pass(f, 1000, NULL, region);
    assert_int_equal(f->counts->cuda, 1);
    assert_int_equal(f->counts->flushes, 1);
    pass(f, 0, NULL, region); /* nothing to flush */
    assert_int_equal(f->counts->flushes, 1);
    f->ops->dereg(region);
}

static void a_dma_buf_outlives_its_descriptor(void **state)
{
    fixture_t *f = *state;
    weft_net_region_t *region = NULL;
    const weft_net_dmabuf_t *dmabuf = f->ops->get_extension(f->net, WEFT_NET_DMABUF);
    assert_non_null(dmabuf);
    weft_net_dmabuf_range_t range = {.size = sizeof range,
                                     .fd = dup(0),
                                     .memory_kind = WEFT_MEMORY_CUDA,
                                     .bytes = BYTES,
                                     .address = (uint64_t)(uintptr_t)f->in};
    assert_int_equal(dmabuf->reg(f->device, &range, &region), WEFT_OK);
    close(range.fd);
    pass(f, 500, NULL, region);
    assert_int_equal(f->counts->dmabuf, 1);
    assert_int_equal(f->counts->flushes, 1);
    f->ops->dereg(region);
}

static void a_kind_that_the_library_lacks_is_refused(void **state)
{
    fixture_t *f = *state;
    weft_net_device_t *device = NULL;
    weft_net_region_t *region = NULL;
    unsetenv("FOREIGN_CUDA");
    assert_int_equal(f->ops->device_open(f->net, 0, &device), WEFT_OK);
    assert_int_equal(f->ops->reg(device, f->in, BYTES, WEFT_MEMORY_CUDA, &region),
                     WEFT_ERR_UNSUPPORTED);
    assert_non_null(strstr(f->fake.error, "libnccl-net-foreign12.so: device 0 takes no memory"));
    f->ops->device_close(device);
}

static void an_old_version_takes_no_size_that_it_cannot_tell(void **state)
{
    fixture_t *f = *state;
    weft_net_region_t *region = NULL;
    assert_int_equal(
        f->ops->reg(f->device, f->in, (uint64_t)INT_MAX + 1, WEFT_MEMORY_HOST, &region),
        WEFT_ERR_UNSUPPORTED);
    assert_null(region);
    assert_non_null(strstr(f->fake.error,
                           "regMr of ncclNetPlugin_v7 takes at most 2147483647 bytes, found "
                           "2147483648"));
    assert_int_equal(f->ops->reg(f->device, f->in, INT_MAX, WEFT_MEMORY_HOST, &region), WEFT_OK);
    f->ops->dereg(region);
}

/* The library tells the end of the stream of a request that is done. */
static void what_was_sent_before_the_end_arrives(void **state)
{
    enum { SENT = 2, POSTED = 4 };
    fixture_t *f = *state;
    weft_net_op_t send = {.kind = WEFT_NET_SEND, .buffer = f->out, .bytes = 100, .context = f};
    weft_net_completion_t list[POSTED];
    uint32_t posted = 0, done = 0, count;
    time_t end = time(NULL) + 60;
    for (int i = 0; i < POSTED; i++) {
        weft_net_op_t receive = {
            .kind = WEFT_NET_RECV, .buffer = f->in + i * 1000, .bytes = 1000, .context = f};
        assert_int_equal(f->ops->post(f->to, &receive, 1, &posted), WEFT_OK);
    }
    setenv("FOREIGN_EAGER", "1", 1);
    for (int i = 0; i < SENT; i++) {
        assert_int_equal(f->ops->post(f->from, &send, 1, &posted), WEFT_OK);
    }
    f->ops->conn_close(f->from);
    f->from = NULL;
    while (done < POSTED && time(NULL) < end) {
        assert_int_equal(f->ops->poll(f->device, &list[done], POSTED - done, &count), WEFT_OK);
        done += count;
    }
    unsetenv("FOREIGN_EAGER");
    assert_int_equal(done, POSTED);
    for (int i = 0; i < POSTED; i++) {
        assert_int_equal(list[i].status, i < SENT ? WEFT_OK : WEFT_ERR_LINK);
    }
    assert_non_null(strstr(f->fake.error, "test on device 0 failed with ncclRemoteError (6)"));
}

/* Before v11 init() is for the process. */
static void a_library_spelled_in_two_ways_is_one(void **state)
{
    fixture_t *f = *state;
    char why[300], setting[4096];
    const char *file = strrchr(OLD_LIBRARY, '/');
    const char *const settings[] = {setting, "interfaces=lo", NULL};
    snprintf(setting, sizeof setting, "library=%.*s/.%s", (int)(file - OLD_LIBRARY), OLD_LIBRARY,
             file);
    void *config = fake_config_create(fake_plugin_open(PLUGIN, WEFT_KIND_NET, why, sizeof why),
                                      settings, why, sizeof why);
    assert_non_null(config);
    const unsigned before = f->counts->inits;
    weft_net_t *other = NULL;
    assert_int_equal(f->ops->create(&f->fake.host, config, &other), WEFT_OK);
    assert_int_equal(f->counts->inits, before);
    f->ops->destroy(other);
    fake_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_region_is_registered_once_per_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(control_streams_are_kept_alive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_regions_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_of_a_gpu_is_flushed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dma_buf_outlives_its_descriptor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_version_takes_no_size_that_it_cannot_tell,
                                        set_up_old, tear_down),
        cmocka_unit_test_setup_teardown(what_was_sent_before_the_end_arrives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_library_spelled_in_two_ways_is_one, set_up_old,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_kind_that_the_library_lacks_is_refused, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
