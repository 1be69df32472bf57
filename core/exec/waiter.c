/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting. Sleeps are bounded by a millisecond: a wake can be missed (see mapped_port.c), and
 * failures of the communicator are looked for between sleeps. */
#include "core/exec/waiter.h"

#include "core/base/log.h"
#include "core/base/plural.h"
#include "core/exec/mapped_port.h"
#include "core/exec/traffic.h"
#include "core/os/os.h"

#define SLEEP_NS WEFT_NS_PER_MS
#define NAP_NS (UINT64_C(20) * 1000)
/* Naps of one length before they double. A nap takes about 50 µs longer than asked for, so this
 * many of each length make a waiting rank nap for a millisecond once it has waited for about 10. */
#define NAPS_OF_A_KIND 8u

/* A yield that takes so long has let another thread run: two switches take longer than this, and a
 * yield to nobody is a system call. */
#define SHARED_NS UINT64_C(1000)
/* … and this long, compute or spin. For how long the core counts as crowded then. */
#define CROWDED_NS (UINT64_C(20) * 1000)
#define CROWDED_FOR_NS (5 * WEFT_NS_PER_MS)
/* A sleep may not help, as where others compute. */
#define MOVE_NS (20 * WEFT_NS_PER_MS)

/* A pause instruction takes about 40 ns on current x86. */
#define PAUSES_PER_SECOND 25e6

void weft_waiter_init(weft_waiter_t *waiter, const weft_exec_settings_t *settings, uint32_t ranks,
                      uint32_t cores)
{
    bool oversubscribed = ranks > cores;
    double spin = settings->spin;
    *waiter =
        (weft_waiter_t){.mode = (weft_wait_mode_t)settings->wait, .oversubscribed = oversubscribed};
    if (waiter->mode == WEFT_WAIT_AUTO) {
        waiter->mode = WEFT_WAIT_SLEEP;
        /* With a core for each rank a long spin costs little, but Linux may put two on one core for
         * a while. */
        spin = oversubscribed ? spin : 200e-6;
        waiter->yields = oversubscribed ? 200 : 2000;
    } else {
        waiter->yields = waiter->mode == WEFT_WAIT_SLEEP ? 20 : UINT32_MAX;
    }
    waiter->spins = (uint32_t)(spin * PAUSES_PER_SECOND);
    waiter->spin_ns = (uint64_t)(spin * 1e9);
    weft_log(WEFT_LOG_INFO, "wait", "%u rank%s on %u core%s: spin %u steps, then %s", ranks,
             weft_plural(ranks), cores, weft_plural(cores), waiter->spins,
             waiter->mode == WEFT_WAIT_SPIN    ? "go on spinning"
             : waiter->mode == WEFT_WAIT_YIELD ? "yield"
                                               : "yield, then sleep");
}

/* Returns how long the next nap takes. */
static uint64_t waiter_next_nap(weft_waiter_t *waiter)
{
    uint32_t doubled = waiter->naps++ / NAPS_OF_A_KIND;
    waiter->naps -= doubled > 8;
    uint64_t nap = NAP_NS << doubled;
    return nap < SLEEP_NS ? nap : SLEEP_NS;
}

void weft_waiter_sleep(weft_waiter_t *waiter, weft_links_t *links, const weft_blocked_t *blocked)
{
    const bool mixed = weft_links_are_mixed(links);
    const uint64_t longest = mixed ? waiter_next_nap(waiter) : SLEEP_NS;
    if (weft_blocked_is_whole(blocked) &&
        weft_mapped_ports_sleep(blocked->port, blocked->count, longest)) {
        return;
    }
    if (!weft_links_sleep(links, longest)) {
        weft_os_sleep_ns(mixed ? longest : waiter_next_nap(waiter));
    }
}

/* One step of spinning. Where a step asks a transport, which takes ten pauses, the clock ends it
 * too. Reading the clock takes half a pause: too much for steps that only look at memory. */
static void waiter_spin(weft_waiter_t *waiter, bool asks)
{
    weft_os_pause();
    if (waiter->mode == WEFT_WAIT_SPIN) {
        return;
    }
    waiter->idle++;
    if (!asks) {
        return;
    }
    if (waiter->idle == 1) {
        waiter->began = weft_os_clock_ns();
    } else if (weft_os_clock_ns() - waiter->began >= waiter->spin_ns) {
        waiter->idle = waiter->spins;
    }
}

/* Gives the core to others, and learns whether there were any. Where ranks outnumber cores the next
 * yield tells whether there still are. */
static void waiter_yield(weft_waiter_t *waiter)
{
    const uint64_t before = weft_os_clock_ns();
    weft_os_yield();
    const uint64_t now = weft_os_clock_ns();
    if (waiter->oversubscribed) {
        waiter->crowded = now - before > SHARED_NS ? UINT64_MAX : 0;
    } else if (now - before > CROWDED_NS) {
        waiter->crowded = now + CROWDED_FOR_NS;
        waiter->moves = now >= waiter->move_at;
        waiter->move_at = waiter->moves ? now + MOVE_NS : waiter->move_at;
    }
}

/* Who waits on a core that others want, too, yields at once: they may be the ranks that it waits
 * for. */
static void waiter_begin(weft_waiter_t *waiter)
{
    if (waiter->crowded != 0 && waiter->mode != WEFT_WAIT_SPIN) {
        if (weft_os_clock_ns() < waiter->crowded) {
            waiter->idle = waiter->spins;
        } else {
            waiter->crowded = 0;
        }
    }
}

/* Two ranks that Linux has put on one core stay there while they spin and yield, though another
 * core is idle: it moves threads that wake, not those that take turns. So a rank that has lost a
 * turn sleeps now and then. */
bool weft_waiter_stays_awake(weft_waiter_t *waiter, bool asks)
{
    if (waiter->moves && waiter->mode == WEFT_WAIT_SLEEP) {
        waiter->moves = false;
        return false;
    }
    if (waiter->idle == 0) {
        waiter_begin(waiter);
    }
    if (waiter->mode == WEFT_WAIT_SPIN || weft_waiter_spins(waiter)) {
        waiter_spin(waiter, asks);
        return true;
    }
    if (waiter->idle - waiter->spins < waiter->yields) {
        waiter_yield(waiter);
        waiter->idle += waiter->yields != UINT32_MAX;
        return true;
    }
    return false;
}

void weft_waiter_nap(weft_waiter_t *waiter)
{
    if (!weft_waiter_stays_awake(waiter, true)) {
        weft_os_sleep_ns(waiter_next_nap(waiter));
    }
}
