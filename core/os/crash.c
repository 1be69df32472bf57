/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handler writes one line with what a handler may use, puts the handler before it back, and
 * returns: the instruction fails again, for the one before. */
#include "core/os/crash.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/os/call_note.h"

#define OBJECTS 64u

/* Code of one shared object; `end` 0: the place is free. */
typedef struct crash_object {
    _Atomic uintptr_t begin, end;
    char name[64];
} crash_object_t;

static crash_object_t objects[OBJECTS];

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static struct sigaction before[SIGNALS];

/* Objects -------------------------------------------------------------------------------------- */

/* Finds the object's segments by its own headers: the lock of dl_iterate_phdr() stays locked in a
 * child of fork() where a thread was in it. That of dladdr() does not. */
static bool crash_range_find(const void *inside, uintptr_t *begin_p, uintptr_t *end_p)
{
    Dl_info info;
    if (dladdr(inside, &info) == 0 || memcmp(info.dli_fbase, ELFMAG, SELFMAG) != 0) {
        return false;
    }
    const uint8_t *base = info.dli_fbase;
    const ElfW(Ehdr) *header = info.dli_fbase;
    const ElfW(Phdr) *segments = (const void *)(base + header->e_phoff);
    uintptr_t first = UINTPTR_MAX, end = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        uintptr_t from = segments[i].p_vaddr, to = from + segments[i].p_memsz;
        if (segments[i].p_type == PT_LOAD) {
            first = from < first ? from : first;
            end = to > end ? to : end;
        }
    }
    *begin_p = (uintptr_t)base;
    *end_p = (uintptr_t)base + (end - first);
    return end > first;
}

void weft_crash_add_object(const char *name, const void *inside)
{
    uintptr_t begin, end;
    if (!crash_range_find(inside, &begin, &end)) {
        return;
    }
    for (uint32_t i = 0; i < OBJECTS; i++) {
        uintptr_t free_place = 0;
        /* Several families load one object: each adds and removes it. */
        if (atomic_compare_exchange_strong(&objects[i].begin, &free_place, begin)) {
            snprintf(objects[i].name, sizeof objects[i].name, "%s", name);
            atomic_store(&objects[i].end, end);
            return;
        }
    }
}

void weft_crash_remove_object(const void *inside)
{
    for (uint32_t i = 0; i < OBJECTS; i++) {
        uintptr_t at = (uintptr_t)inside, end = atomic_load(&objects[i].end);
        if (at >= atomic_load(&objects[i].begin) && at < end &&
            atomic_compare_exchange_strong(&objects[i].end, &end, 0)) {
            atomic_store(&objects[i].begin, 0);
            return;
        }
    }
}

/* The handler ---------------------------------------------------------------------------------- */

static uintptr_t crash_place(const void *context)
{
    const ucontext_t *at = context;
#if defined(__x86_64__)
    return (uintptr_t)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)at->uc_mcontext.pc;
#else
    (void)at;
    return 0;
#endif
}

static const char *crash_object_at(uintptr_t place)
{
    for (uint32_t i = 0; i < OBJECTS; i++) {
        if (place >= atomic_load(&objects[i].begin) && place < atomic_load(&objects[i].end)) {
            return objects[i].name;
        }
    }
    return NULL;
}

/* Appends text to a line of at most `bytes`; snprintf() is not for handlers. */
static size_t crash_append(char *line, size_t bytes, size_t used, const char *text)
{
    size_t more = strlen(text);
    more = used + more < bytes ? more : bytes - used;
    memcpy(line + used, text, more);
    return used + more;
}

static const char *crash_signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGILL:
        return "SIGILL";
    case SIGFPE:
        return "SIGFPE";
    case SIGTRAP:
        return "SIGTRAP";
    default:
        return "SIGABRT";
    }
}

static void crash_tell(int number, const void *context)
{
    char line[256];
    weft_call_note_t note = weft_call_of_thread((int32_t)syscall(SYS_gettid));
    const char *object = crash_object_at(crash_place(context));
    if (note.plugin == NULL && object == NULL) {
        return;
    }
    size_t used = crash_append(line, sizeof line, 0, "weft: ");
    used = crash_append(line, sizeof line, used, crash_signal_name(number));
    used = crash_append(line, sizeof line, used, " in plugin ");
    used = crash_append(line, sizeof line, used, note.plugin != NULL ? note.plugin : object);
    used = crash_append(line, sizeof line, used, ", ");
    used = crash_append(line, sizeof line, used,
                        note.plugin != NULL && note.method != NULL
                            ? note.method
                            : "in a call that is told with core.check = yes");
    used = crash_append(line, sizeof line, used, "\n");
    (void)weft_log_put(line, used);
}

static void crash_handle(int number, siginfo_t *info, void *context)
{
    crash_tell(number, context);
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i] == number) {
            (void)sigaction(number, &before[i], NULL);
        }
    }
    /* One that was sent does not come again by itself. */
    if (info->si_code <= 0 || number == SIGABRT || number == SIGTRAP) {
        (void)raise(number);
    }
}

void weft_crash_install(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&done)) {
        return;
    }
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
        action.sa_sigaction = crash_handle;
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(signals[i], &action, &before[i]);
    }
}
