/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three threads want one mutex: one of them has it at a time, and none sleeps for ever.
 * Sources: core/os/mutex.c */
#include "model_system.h"

static weft_os_mutex_t mutex;
static int counter;

static void model_begin(void)
{
    counter = 0;
}

static void *model_count(void *arg)
{
    (void)arg;
    weft_os_lock(&mutex);
    counter++;
    weft_os_unlock(&mutex);
    return NULL;
}

static void model_end(void)
{
    model_assert(counter == 3);
}

MODEL_PLAY(model_count, model_count, model_count)
