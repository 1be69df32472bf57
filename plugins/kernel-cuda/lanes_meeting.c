/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_meeting.h. Whether the run is whole is decided on the device, when it begins. */
#include "lanes_meeting.h"

#include <string.h>

#define PIECE_BYTES 64u /* chunks of a whole run begin at multiples of it */

static bool lanes_meeting_covers(const weft_lanes_endpoint_t *end, const void *memory,
                                 uint64_t bytes)
{
    bool covers = false;
    for (uint32_t w = 0; w < end->windows.count && !covers; w++) {
        const weft_lanes_window_t *window = &end->windows.window[w];
        const uint64_t offset = (uintptr_t)memory - (uintptr_t)window->base;
        covers = offset < window->bytes && bytes <= window->bytes - offset;
    }
    return covers;
}

/* One pass for each channel, and one slice for each chunk. */
static weft_lanes_segmentation_t lanes_meeting_cut(const weft_lanes_program_t *program,
                                                   const weft_lanes_segmentation_t *g)
{
    const uint64_t parts = (uint64_t)g->k * program->channels;
    const uint64_t step = PIECE_BYTES / program->elem;
    const uint64_t chunk = ((g->count + parts - 1) / parts + step - 1) / step * step;
    return (weft_lanes_segmentation_t){.count = g->count,
                                       .slice = chunk,
                                       .chunk = chunk,
                                       .pass = chunk * g->k,
                                       .passes = program->channels,
                                       .slices = 1,
                                       .k = g->k};
}

/* Whether windows hold all that this rank sends. The windows of all channels are the same. */
static bool lanes_meeting_is_covered(const weft_lanes_handle_t *handle,
                                     const weft_lanes_call_t *call, const void *in)
{
    const lanes_run_t *run = &handle->run;
    bool covered = run->meeting.in_bytes > 0;
    for (uint32_t p = 0; p < run->program.nports && covered; p++) {
        const weft_lanes_endpoint_t *end = call->ends[p];
        covered = end->port.sends == 0 ||
                  (lanes_meeting_covers(end, in, run->meeting.in_bytes) &&
                   (run->meeting.out_bytes == 0 ||
                    lanes_meeting_covers(end, call->out, run->meeting.out_bytes)));
    }
    return covered;
}

static bool lanes_meeting_has_windows(const weft_lanes_handle_t *handle,
                                      const weft_lanes_call_t *call)
{
    bool some = false;
    for (uint32_t p = 0; p < handle->run.program.nports && !some; p++) {
        some = call->ends[p]->windows.count > 0;
    }
    return some;
}

void lanes_meeting_set(weft_lanes_handle_t *handle, const weft_lanes_call_t *call, bool recorded)
{
    const lanes_image_t *image = &handle->image;
    const weft_lanes_segmentation_t *g = &call->segmentation;
    const uint64_t block = g->count * image->program.elem;
    lanes_run_t *run = &handle->run;
    run->meeting.may = 0;
    run->meeting.meets = image->program.meets != 0 &&
                         g->chunk * image->program.elem > WEFT_FIFO_INLINE &&
                         (recorded || lanes_meeting_has_windows(handle, call));
    if (run->meeting.meets == 0) {
        return;
    }
    run->meeting.in_bytes = call->nin * block;
    run->meeting.out_bytes = image->sends_out ? call->nout * block : 0;
    run->meeting.whole = lanes_meeting_cut(&image->program, g);
    run->meeting.may =
        handle->kernel->travel.whole && (image->stable & call->stable) != 0 &&
        run->meeting.whole.chunk * image->program.elem <= LANES_WHOLE_MOST &&
        lanes_meeting_is_covered(handle, call, call->staging != NULL ? call->staging : call->in);
}
