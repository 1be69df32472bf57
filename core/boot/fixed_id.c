/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fixed ids. The n-th use of one has a nonce of its own, so it is another communicator with other
 * keys, and a rank that is one use behind is refused. */
#include "core/boot/fixed_id.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/claim_round.h"
#include "core/boot/join_root.h"
#include "core/boot/root_word.h"
#include "core/boot/wire.h"
#include "core/os/os.h"
#include "core/os/os_address.h"
#include "core/os/os_cancel.h"
#include "core/os/os_fork.h"

#define PAUSE_NS (20 * WEFT_NS_PER_MS)
/* The root of the use before ends soon after its ranks have joined. */
#define FORMER_NS (5 * WEFT_NS_PER_S)
/* When a rank that waits for rank 0 says so. */
#define SAY_NS (5 * WEFT_NS_PER_S)
/* The root's deadline is a little later than that of rank 0. */
#define GRACE_NS WEFT_NS_PER_S

/* How often each rank of this process has used an id. Entries stay: a process has few fixed ids. */
typedef struct fixed_id_use {
    struct fixed_id_use *next;
    uint64_t comm_id; /* of the id as it was made */
    uint32_t rank, count;
} fixed_id_use_t;

static weft_os_process_mutex_t uses_lock;
static fixed_id_use_t *uses;

static weft_status_t fixed_id_bad(const char *at, const char *why)
{
    return weft_fail(WEFT_ERR_ARG, 0, "\"%.100s\": %s; expected HOST:PORT", at, why);
}

/* Splits "host:port" and "[host]:port". */
static weft_status_t fixed_id_split(const char *at, weft_id_t *id)
{
    const char *colon = strrchr(at, ':'), *first = at;
    uint32_t port = 0;
    if (colon == NULL) {
        return fixed_id_bad(at, "there is no port");
    }
    for (const char *digit = colon + 1; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9' || port > UINT16_MAX) {
            return fixed_id_bad(at, "the port is no number from 1 to 65535");
        }
        port = port * 10 + (uint32_t)(*digit - '0');
    }
    size_t bytes = (size_t)(colon - at);
    if (bytes >= 2 && at[0] == '[' && at[bytes - 1] == ']') {
        first++;
        bytes -= 2;
    } else if (memchr(at, ':', bytes) != NULL) {
        return fixed_id_bad(at, "an IPv6 address needs brackets: [fd00::1]:4711");
    }
    if (port == 0 || port > UINT16_MAX) {
        return fixed_id_bad(at, "the port is no number from 1 to 65535");
    }
    if (bytes == 0 || bytes >= sizeof id->host || memchr(first, ' ', bytes) != NULL) {
        return fixed_id_bad(at, bytes == 0 ? "there is no host"
                                           : "the host is no name of at most 57 "
                                             "characters");
    }
    memcpy(id->host, first, bytes);
    id->host[bytes] = '\0';
    if (weft_os_host_is_link_local(id->host)) {
        return fixed_id_bad(at, "a link-local address means nothing on another host");
    }
    id->port = (uint16_t)port;
    return WEFT_OK;
}

weft_status_t weft_fixed_id_make(const char *at, weft_unique_id_t *id)
{
    weft_id_t made = {.created = (uint32_t)weft_os_wall_s(), .by_rank_0 = true};
    weft_status_t status = fixed_id_split(at, &made);
    if (status == WEFT_OK) {
        status = weft_os_random(made.secret, sizeof made.secret);
    }
    if (status == WEFT_OK) {
        status = weft_os_random(made.nonce, sizeof made.nonce);
    }
    if (status == WEFT_OK) {
        weft_id_encode(&made, id);
    }
    weft_id_wipe(&made);
    return status;
}

/* Counts one more use of the id by `rank` of this process; returns how many there were before. */
static weft_status_t fixed_id_count(uint64_t comm_id, uint32_t rank, uint32_t *count_p)
{
    weft_os_process_lock(&uses_lock);
    fixed_id_use_t *use = uses;
    while (use != NULL && (use->comm_id != comm_id || use->rank != rank)) {
        use = use->next;
    }
    if (use == NULL && (use = weft_os_alloc(sizeof *use, 0)) != NULL) {
        *use = (fixed_id_use_t){.next = uses, .comm_id = comm_id, .rank = rank};
        uses = use;
    }
    if (use != NULL) {
        *count_p = use->count++;
    }
    weft_os_process_unlock(&uses_lock);
    return use != NULL ? WEFT_OK : weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for a unique id");
}

static void fixed_id_renew(weft_id_t *id, uint32_t use)
{
    uint8_t count[4];
    weft_put_u32(count, use);
    (void)crypto_generichash(id->nonce, sizeof id->nonce, count, sizeof count, id->nonce,
                             sizeof id->nonce);
}

/* Adds the addresses by which the others reach rank 0. It can do without. */
static void fixed_id_name_host(weft_id_t *id)
{
    const weft_error_t before = *weft_error_record();
    const uint16_t port = id->addrs[0].port;
    id->count += weft_os_addr_find(id->host, port, id->addrs + 1, WEFT_ID_ADDRS - 1);
    *weft_error_record() = before;
}

/* Rank 0: listens on the port of the id, and reaches itself without the network. */
static weft_status_t fixed_id_serve(const weft_boot_settings_t *settings, weft_id_t *id,
                                    uint64_t until)
{
    uint16_t port = id->port;
    uint64_t former = weft_os_clock_ns() + FORMER_NS;
    weft_status_t status;
    id->count = 1;
    id->addrs[0] = (weft_os_addr_t){.family = 4, .bytes = {127, 0, 0, 1}};
    while ((status = weft_boot_root_start(settings, id, port)) == WEFT_AGAIN) {
        uint64_t now = weft_os_clock_ns();
        if (now >= former || now >= until) {
            return weft_fail(WEFT_ERR_RESOURCE, 0,
                             "rank 0 cannot listen on port %u, which its unique id names: another "
                             "program does",
                             port);
        }
        weft_os_sleep_ns(PAUSE_NS);
    }
    fixed_id_name_host(id);
    return status;
}

/* How a rank seeks rank 0. */
typedef struct fixed_id_search {
    uint32_t nranks, rank;
    uint64_t until;
    uint64_t former; /* until then the root of the use before may be there */
    uint64_t say;    /* when to log that it waits; WEFT_NEVER: it has */
    uint64_t span;   /* of the next attempt */
    bool silence;    /* the last one got no answer at all */
} fixed_id_search_t;

/* Nothing comes back from a host that is not there, and from a firewall. The first attempt ends
 * early, so that it is said soon. Each one looks the host up anew; later ones have time for the
 * connector's long waits. */
static fixed_id_search_t fixed_id_search_begin(uint32_t nranks, uint32_t rank, uint64_t until)
{
    uint64_t now = weft_os_clock_ns(), half = until > now ? (until - now) / 2 : 0;
    return (fixed_id_search_t){.nranks = nranks,
                               .rank = rank,
                               .until = until,
                               .former = now + FORMER_NS,
                               .say = now + SAY_NS,
                               .span = half < SAY_NS ? half : SAY_NS};
}

/* Tries once to find rank 0 and to claim the id there. ERR_LINK: nobody listens, or answers. */
static weft_status_t fixed_id_attempt(fixed_id_search_t *search, weft_id_t *id,
                                      weft_unique_id_t *bytes)
{
    weft_claim_t claim;
    search->silence = false;
    if (search->rank > 0) {
        id->count = weft_os_addr_find(id->host, id->port, id->addrs, WEFT_ID_ADDRS);
        if (id->count == 0) {
            return WEFT_ERR_LINK;
        }
    }
    uint64_t now = weft_os_clock_ns(), left = search->until > now ? search->until - now : 0;
    uint64_t until = search->span < left ? now + search->span : search->until;
    weft_id_encode(id, bytes);
    weft_status_t status =
        weft_claim_round_begin(bytes, search->rank, search->nranks, until, &claim);
    if (status == WEFT_OK && search->rank == 0) {
        weft_root_word_say(claim.comm_id, NULL);
    }
    if (status == WEFT_OK) {
        return weft_claim_round_end(&claim, search->until);
    }
    search->silence = status == WEFT_ERR_TIMEOUT;
    /* Only an attempt that took all of its span: who is refused tries again at once, so often that
     * the span would overflow. */
    search->span *= search->silence ? 2 : 1;
    return search->silence ? WEFT_ERR_LINK : status;
}

/* Rank 0 connects to its own host, which can fail too. */
static weft_status_t fixed_id_unreached(const fixed_id_search_t *search, const weft_id_t *id,
                                        weft_status_t status, const char *why)
{
    if (search->rank > 0) {
        return weft_fail(status, 0,
                         "rank 0 was not reached at %s:%u, as the unique id says, before "
                         "init_timeout: %s",
                         id->host, id->port, why);
    }
    weft_error_t *error = weft_error_record();
    weft_fail(status, 0,
              "rank 0 could not connect to its own port before init_timeout (is its loopback "
              "interface up?): %s",
              why);
    error->peer = 0;
    error->peer_pid = weft_os_pid();
    weft_os_host_name(error->peer_host, sizeof error->peer_host);
    weft_root_word_say(weft_id_comm(id), error);
    return status;
}

/* After an attempt in vain, for the reason of the error record: says in time what is the matter. */
static void fixed_id_say(fixed_id_search_t *search, const weft_id_t *id, const char *why)
{
    if (search->say == WEFT_NEVER || (weft_os_clock_ns() < search->say && !search->silence)) {
        return;
    }
    search->say = WEFT_NEVER;
    if (search->rank > 0) {
        weft_log(WEFT_LOG_WARN, "boot",
                 "rank %u waits until init_timeout for rank 0, which was not reached at %s:%u, as "
                 "the unique id says: %s",
                 search->rank, id->host, id->port, why);
    } else {
        weft_log(WEFT_LOG_WARN, "boot",
                 "rank 0 cannot connect to its own port; is the loopback interface up? %s", why);
    }
}

/* Rank 0 stays until its root has told the others, at their deadline, why it could not come. */
static weft_status_t fixed_id_stay(const weft_id_t *id, weft_status_t status)
{
    const weft_error_t kept = *weft_error_record();
    weft_root_word_wait(weft_id_comm(id), weft_os_clock_ns() + GRACE_NS);
    *weft_error_record() = kept;
    return status;
}

/* Ranks may come before rank 0 listens, and before the root of the use before has gone. */
static weft_status_t fixed_id_claim(weft_id_t *id, uint32_t nranks, uint32_t rank, uint64_t until,
                                    weft_unique_id_t *bytes)
{
    fixed_id_search_t search = fixed_id_search_begin(nranks, rank, until);
    for (;;) {
        weft_status_t status = fixed_id_attempt(&search, id, bytes);
        uint64_t now = weft_os_clock_ns();
        bool absent = status == WEFT_ERR_LINK;
        if (!absent && !(status == WEFT_ERR_AUTH && now < search.former)) {
            return status;
        }
        char why[300];
        snprintf(why, sizeof why, "%.290s", weft_error_record()->text);
        fixed_id_say(&search, id, why);
        status = fixed_id_unreached(&search, id, absent ? WEFT_ERR_TIMEOUT : status, why);
        const weft_status_t cancelled = weft_os_cancelled();
        if (cancelled != WEFT_OK) {
            return cancelled;
        }
        if (now + PAUSE_NS < until) {
            weft_os_sleep_ns(PAUSE_NS);
        }
        /* An attempt that has no time would say less than this one did. */
        if (weft_os_clock_ns() + PAUSE_NS >= until) {
            return rank == 0 ? fixed_id_stay(id, status) : status;
        }
    }
}

/* One rank meets nobody at the address of the id, which another job may hold. */
static weft_status_t fixed_id_alone(const weft_boot_settings_t *settings, weft_id_t *id,
                                    weft_unique_id_t *bytes)
{
    id->count = 1;
    id->addrs[0] = (weft_os_addr_t){.family = 4, .bytes = {127, 0, 0, 1}};
    const weft_status_t status = weft_boot_root_start(settings, id, 0);
    weft_id_encode(id, bytes);
    return status;
}

weft_status_t weft_fixed_id_open(const weft_boot_settings_t *settings, uint32_t nranks,
                                 uint32_t rank, const weft_unique_id_t *id,
                                 weft_unique_id_t *opened)
{
    weft_id_t known;
    uint32_t use = 0;
    uint64_t until = weft_os_deadline(settings->init_timeout);
    weft_unique_id_t bytes = *id;
    weft_status_t status = weft_id_decode(id, &known);
    bool fixed = status == WEFT_OK && known.host[0] != '\0';
    if (fixed) {
        status = fixed_id_count(weft_id_comm(&known), rank, &use);
        fixed_id_renew(&known, use);
    }
    if (status == WEFT_OK && fixed && nranks == 1) {
        status = fixed_id_alone(settings, &known, &bytes);
    } else if (status == WEFT_OK && fixed) {
        status = rank == 0 ? fixed_id_serve(settings, &known, until) : WEFT_OK;
        if (status == WEFT_OK) {
            status = fixed_id_claim(&known, nranks, rank, until, &bytes);
        }
    }
    weft_id_wipe(&known);
    if (status == WEFT_OK) {
        *opened = bytes;
    }
    return status;
}
