/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_seeks.h. The notices of all handles have the same count, so it does not matter which
 * program a run before was of. */
#include "lanes_seeks.h"

void lanes_seeks_add(weft_lanes_handle_t *handle)
{
    cuda_seeks_t *seeks = &handle->kernel->seeks;
    pthread_mutex_lock(&seeks->lock);
    lanes_image_seeks(&handle->image, handle->visible, seeks->count);
    handle->next = seeks->handles;
    seeks->handles = handle;
    pthread_mutex_unlock(&seeks->lock);
}

void lanes_seeks_remove(weft_lanes_handle_t *handle)
{
    cuda_seeks_t *seeks = &handle->kernel->seeks;
    pthread_mutex_lock(&seeks->lock);
    weft_lanes_handle_t **link = &seeks->handles;
    while (*link != NULL && *link != handle) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = handle->next;
    }
    pthread_mutex_unlock(&seeks->lock);
}

void lanes_seeks_count(weft_kernel_t *kernel)
{
    cuda_seeks_t *seeks = &kernel->seeks;
    pthread_mutex_lock(&seeks->lock);
    seeks->count++;
    for (weft_lanes_handle_t *h = seeks->handles; h != NULL; h = h->next) {
        lanes_image_seeks(&h->image, h->visible, seeks->count);
    }
    pthread_mutex_unlock(&seeks->lock);
}
