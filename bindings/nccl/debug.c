/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines for people, and the file of refused calls. */
#include "bindings/nccl/debug.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <weft/weft.h>

#include "bindings/nccl/environment.h"
#include "bindings/nccl/types.h"

static void debug_print(const char *level, const char *text)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    fprintf(stderr, "%s:%d NCCL %s %s\n", host, (int)getpid(), level, text);
}

void nccl_debug_warn(const char *text)
{
    if (nccl_env_debug() >= NCCL_DEBUG_WARN) {
        debug_print("WARN", text);
    }
}

static void debug_hello(void)
{
    static const char inside = 0;
    Dl_info here = {.dli_fname = NULL};
    char line[512];
    int found = dladdr(&inside, &here);
    snprintf(line, sizeof line, "weft %s answers as NCCL %d.%d.%d, from %s", weft_version(),
             NCCL_VERSION_CODE / 10000, NCCL_VERSION_CODE / 100 % 100, NCCL_VERSION_CODE % 100,
             found != 0 && here.dli_fname != NULL ? here.dli_fname : "libnccl.so.2");
    debug_print("INFO", line);
}

/* One write, so that lines of several processes do not mix. */
static void debug_note(const char *word)
{
    const char *path = nccl_env_refused_file();
    int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    char line[96];
    int bytes = snprintf(line, sizeof line, "%s\n", word);
    ssize_t written = write(fd, line, (size_t)bytes);
    (void)written; /* nobody to tell */
    close(fd);
}

static void debug_answered(void)
{
    debug_note("answered");
}

void nccl_debug_used(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, debug_answered);
}

void nccl_debug_hello(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    nccl_debug_used();
    if (nccl_env_debug() >= NCCL_DEBUG_VERSION) {
        pthread_once(&once, debug_hello);
    }
}

static void debug_comm_id(void)
{
    debug_print("WARN",
                "NCCL_COMM_ID has no effect with weft: ncclGetUniqueId makes an id that must reach "
                "all ranks; `weft id --at HOST:PORT` prints one with an address that you choose");
}

void nccl_debug_comm_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (nccl_env_comm_id()) {
        pthread_once(&once, debug_comm_id);
    }
}

void nccl_debug_refused(const char *call)
{
    debug_note(call);
}
