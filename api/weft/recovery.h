/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Part of the user API, included by weft/weft.h: going on after a failure.
 *
 * A failure of a communicator reaches all of its ranks: those that wait in it leave with the error,
 * within milliseconds where a process died. A rank that finds a reason to stop that weft cannot see
 * calls weft_comm_revoke(). What is left of a communicator after that is what concerns this rank
 * alone ("Failures" in weft.h), and the calls below. None of them uses its connections, so nothing
 * that was sent before is taken for an answer after. docs/recovery.md is the guide. */
#ifndef WEFT_RECOVERY_H
#define WEFT_RECOVERY_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fails the communicator on this rank at once. Calls in progress in other threads return
 * ERR_ABORTED within 1 s, those that a failure does not end, too: weft_comm_agree(),
 * weft_comm_shrink() and weft_comm_create_group(). Peers get ERR_ABORTED with this rank as the
 * cause. Where they agree or shrink they wait for this rank until it calls that anew, with the same
 * excluded ranks, or destroys the communicator and counts as gone. Never waits for a peer. The
 * communicator must still be destroyed.
 * Errors: ERR_ARG, ERR_STATE.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_abort(weft_comm_t *comm);

/* Puts the communicator into the failed state on all ranks: calls in progress return ERR_REVOKED
 * with this rank as the cause, here within 1 s, elsewhere when the word has reached them. Requests
 * that are open complete with it. If the communicator has failed already, its first error stays.
 * All ranks may revoke: what has been revoked once is not told again. Never waits for a peer.
 *
 * Three calls do not use the communicator, and go on when it fails. weft_comm_agree() and
 * weft_comm_shrink() go on over a revoke, too; only weft_comm_abort() of this rank ends them.
 * weft_comm_create_group() ends with ERR_REVOKED on all its members, if this rank is inside it, or
 * if one that is hears of the revoke, also where `comm` had failed before. Called by ranks that
 * have revoked `comm`, or have heard of a revoke, it makes groups of it, which later revokes of
 * others do not end: there a rank that waits for one that has gone on stays until init_timeout, or
 * until it aborts or revokes.
 * Errors: ERR_ARG, ERR_STATE.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_revoke(weft_comm_t *comm);

/* Returns a descriptor that poll(2), epoll and select report readable once `comm` has failed, for
 * programs with an event loop: they learn of a death within milliseconds although no call is open.
 * weft_comm_error() then says what happened. The descriptor is the same in every call. It belongs
 * to the communicator: do not read from it and do not close it, and take it out of the loop before
 * weft_comm_destroy(), which closes it.
 *
 * There is no callback, because the thread that learns of a failure holds locks under which no
 * call of weft could be made.
 * Errors: ERR_ARG, ERR_STATE, ERR_RESOURCE (no descriptors left), ERR_SYSTEM.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_error_fd(weft_comm_t *comm, int *fd_p) WEFT_MUST_CHECK;

/* Sets *bits, on all ranks of `comm` that live, to one value: the bit-and over their *bits. The
 * value is the same on all that return OK, whoever dies meanwhile; a rank that dies may count or
 * not. Every rank that lives calls it, in the same order as its other calls of weft_comm_agree() on
 * this communicator, which may have failed. No operation of the communicator waits for it, so other
 * threads may be inside other calls.
 *
 * A call that ends on this rank before it is decided, with ERR_TIMEOUT or ERR_ABORTED, stays open:
 * the others may have what it gave. The next call of this rank goes on with it, must give the same
 * *bits, and sets the value that they have or will have.
 * Errors: ERR_ARG, ERR_STATE (also inside a group, if another thread is inside this call or
 * weft_comm_shrink() of `comm`, and if a call with other *bits is open), ERR_TIMEOUT (names ranks
 * that live and did not call it), ERR_PEER_DEAD (the others have declared this rank dead),
 * ERR_ABORTED (another thread has called weft_comm_abort() meanwhile), ERR_RESOURCE. After an error
 * *bits is unchanged; that the others have a value is possible after ERR_TIMEOUT and ERR_ABORTED
 * alone.
 * Blocking: up to init_timeout. Thread: one, with weft_comm_shrink(). */
WEFT_EXPORT weft_status_t weft_comm_agree(weft_comm_t *comm, uint64_t *bits) WEFT_MUST_CHECK;

/* Makes a communicator of the ranks of `comm` that live and are not in excluded[0 … count-1], in
 * their order. They alone call it, all with the same excluded ranks, which may be dead, alive or
 * NULL with count 0. Who has left `comm`, or the job, is not in it. The callers agree on who is
 * gone; if somebody dies meanwhile they agree again. So the call has one outcome on all of them,
 * and when it returns OK all members had made their end. A rank that dies after that is found by
 * the next call on the new communicator, which can be shrunk in its turn.
 *
 * `comm` may have failed, and is not used; what waits in it must have been ended before, by its
 * failure or weft_comm_revoke(), so that all ranks come here. It must still be destroyed, before or
 * after. The child shares the control connections, listeners, plugins, memory and verified plans,
 * as with weft_comm_split(), and the caller owns *child_p. Nothing sent in `comm` reaches the
 * child. On failure *child_p is unchanged, and trying again is legal. A rank whose time is up, or
 * whose other thread aborts `comm`, returns ERR_TIMEOUT or ERR_ABORTED alone, and its next call
 * with the same excluded ranks goes on with that one, as in weft_comm_agree(). If the child is made
 * with what it had of it, the child has failed on all ranks, and can be shrunk.
 * Errors: ERR_ARG (NULL, a rank out of range, the caller excludes itself), ERR_STATE (also inside a
 * group, and if another thread is inside this call or weft_comm_agree() of `comm`), ERR_TIMEOUT
 * (names ranks that live and did not call it with the same excluded ranks), ERR_PEER_DEAD (the
 * others have declared this rank dead), ERR_ABORTED (another thread has called weft_comm_abort()
 * meanwhile), ERR_RESOURCE.
 * Blocking: up to init_timeout. Thread: one, with weft_comm_agree(); as there. */
WEFT_EXPORT weft_status_t weft_comm_shrink(weft_comm_t *comm, const uint32_t *excluded,
                                           uint32_t count, weft_comm_t **child_p) WEFT_MUST_CHECK;

/* Taking in new ranks -------------------------------------------------------------------------- */

/* A ticket lets one newcomer come into a communicator that grows. It holds what a unique id does:
 * anyone who has it can join, so carry it over a private channel only. It is valid once, until
 * init_timeout has passed since it was made. */
#define WEFT_TICKET_BYTES 160
typedef struct weft_ticket {
    uint8_t bytes[WEFT_TICKET_BYTES];
} weft_ticket_t;

struct weft_comm_options; /* weft.h */

/* Makes `count` tickets for newcomers to `comm`; one rank of `comm` calls it. ranks[i] is the
 * number that the newcomer with tickets[i] will have among all, members and newcomers; the members
 * take the numbers that are left, in their order. So whoever takes the place of a rank that died,
 * and that a shrink has left out, is given the number of the dead one, and the others have their
 * old numbers again. With `ranks` NULL the newcomers come behind the last member.
 *
 * This process listens for those who join, and must live until they have joined.
 * Errors: ERR_ARG (NULL, count 0, a number out of range or given twice), ERR_STATE, the failure of
 * `comm`, ERR_CONFIG (no interface), ERR_RESOURCE, ERR_SYSTEM.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_ticket(weft_comm_t *comm, const uint32_t *ranks, uint32_t count,
                                           weft_ticket_t *tickets) WEFT_MUST_CHECK;

/* Makes a communicator of the ranks of `comm` and of newcomers, who call weft_comm_join(). Every
 * rank of `comm` calls it, in the same order as its other calls. One of them gives all tickets of
 * one call of weft_comm_ticket(), the others NULL and 0.
 *
 * The new communicator has connections, memory and a failure detector of its own, so `comm` may be
 * used on or destroyed at any time; both begin with the values that `comm` was configured with.
 * The call has one outcome on all members and newcomers that return from it: OK, and all have come,
 * or an error, and nobody has the new communicator. (A rank whose time is up returns ERR_TIMEOUT
 * alone.) After an error `comm` is as it was, unless one of its own ranks failed it, and growing
 * again with new tickets is legal. On failure *grown_p is unchanged.
 * Errors: ERR_ARG (NULL, bytes that are no tickets, tickets of another communicator or of several
 * calls, no rank or several gave tickets), ERR_STATE (also inside a group, and tickets that are
 * stale), ERR_TIMEOUT (names the newcomers that did not come; where a rank of `comm` does not call
 * it, `comm` fails and names it), ERR_PEER_DEAD, ERR_PEER_LEFT, and those of weft_comm_init_rank().
 * Blocking: up to init_timeout. Thread: one. */
WEFT_EXPORT weft_status_t weft_comm_grow(weft_comm_t *comm, const weft_ticket_t *tickets,
                                         uint32_t count, weft_comm_t **grown_p) WEFT_MUST_CHECK;

/* Joins the communicator that grows, as a newcomer: the counterpart of weft_comm_grow(). The
 * options must be those of the members, as with weft_comm_init_rank(). The caller owns *comm_p.
 * Errors: ERR_ARG (NULL, bytes that are no ticket), ERR_STATE (a stale ticket), ERR_PEER_DEAD,
 * ERR_PEER_LEFT, and those of weft_comm_init_rank().
 * Blocking: up to init_timeout. Thread: any. */
WEFT_EXPORT weft_status_t weft_comm_join(weft_comm_t **comm_p, const weft_ticket_t *ticket,
                                         const struct weft_comm_options *options) WEFT_MUST_CHECK;

/* Ends a group in place of weft_group_end(), for a caller that cannot go on: nothing of it is
 * started. Its operations with request_p or queue end with the first failure inside the group, or
 * with ERR_STATE if there was none, which the end of a group around it returns too. The calling
 * thread, and no communicator, is concerned.
 * Errors: ERR_ARG (no open group).
 * Blocking: no. Thread: the one that opened the group. */
WEFT_EXPORT weft_status_t weft_group_cancel(void);

#ifdef __cplusplus
}
#endif
#endif
