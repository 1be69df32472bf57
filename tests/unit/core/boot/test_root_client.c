/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank's connection to the root that breaks while the last of the join is said. */
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/root_client.h"
#include "core/os/os_cancel.h"
#include "tests/support/unit.h"

/* At the root's port somebody accepts and says nothing. Returns the listener. */
static int seek_silent_root(weft_root_client_t *client)
{
    int listener;
    uint16_t port = 0;
    assert_int_equal(weft_os_listen(8, &listener, &port), WEFT_OK);
    client->id.count = 1;
    client->id.addrs[0] = (weft_os_addr_t){.family = 4, .port = port, .bytes = {127, 0, 0, 1}};
    client->seeks = true;
    weft_connector_begin_root(&client->connector, &client->id, 1, WEFT_NEVER);
    return listener;
}

static void a_rank_that_says_that_it_has_joined_can_be_cancelled(void **state)
{
    static weft_root_client_t client = {.fd = -1};
    int cancel[2], listener = seek_silent_root(&client);
    (void)state;
    assert_int_equal(pipe(cancel), 0);
    close(cancel[1]);
    weft_os_cancel_by(cancel[0]);
    assert_int_equal(weft_root_client_joined(&client), WEFT_ERR_ABORTED);
    weft_os_cancel_by(0);
    weft_root_client_end(&client);
    close(cancel[0]);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_says_that_it_has_joined_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
