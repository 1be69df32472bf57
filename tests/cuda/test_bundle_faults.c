/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends and receives in streams that cannot end well: what the error says, and that launches
 * end. */
#include "tests/cuda/messages.h"
#include "tests/support/streams.h"
#include "tests/support/unit.h"

enum { COUNT = STREAMS_COUNT };

/* What comes afterwards fails in launches that have done their work before. */
static int exchange_well(const desk_t *desk)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    NEED(messages_put(desk, COUNT) && desk_settle(desk));
    wrong += messages_exchange(desk, COUNT);
    NEED(desk_settle(desk));
    streams_meet();
    return wrong;
}

static int disagree(desk_t *desk)
{
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = exchange_well(desk);
    NEED((rank == 0 ? messages_send(desk, peer, COUNT) : messages_receive(desk, peer, COUNT / 2)) ==
         WEFT_OK);
    NEED(streams_failed(desk->comm, WEFT_ERR_MISMATCH,
                        "message 2 from rank 0 (there) to rank 1 (here) differs: count 150 here, "
                        "300 there"));
    NEED(desk_settle(desk) && messages_send(desk, peer, COUNT) == WEFT_ERR_MISMATCH);
    return wrong;
}

static void messages_of_unlike_lengths_are_named(void **state)
{
    (void)state;
    messages_run(2, PLAIN, disagree);
}

static int wait_in_vain(desk_t *desk)
{
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = exchange_well(desk);
    desk->call[0].timeout = 0.3;
    NEED(rank == 1 || messages_receive(desk, peer, COUNT) == WEFT_OK);
    NEED(streams_failed(desk->comm, WEFT_ERR_TIMEOUT,
                        "receive of 300 int32 from rank 1 (message 2) not done after"));
    NEED(desk_settle(desk));
    return wrong;
}

static void a_deadline_names_the_message(void **state)
{
    (void)state;
    messages_run(2, PLAIN, wait_in_vain);
}

static int leave(desk_t *desk)
{
    uint32_t rank = desk->rank, peer = 1 - rank;
    int wrong = exchange_well(desk);
    if (rank == 0) {
        NEED(messages_receive(desk, peer, COUNT) == WEFT_OK);
        NEED(streams_failed(desk->comm, WEFT_ERR_PEER_LEFT,
                            "rank 1 left the communicator; rank 0 waits for it for data"));
        NEED(desk_settle(desk));
    }
    return wrong;
}

static void a_peer_that_left_ends_a_launch(void **state)
{
    (void)state;
    messages_run(2, PLAIN, leave);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_unlike_lengths_are_named),
        cmocka_unit_test(a_deadline_names_the_message),
        cmocka_unit_test(a_peer_that_left_ends_a_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
