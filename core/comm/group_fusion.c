/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See group_fusion.h. */
#include "core/comm/group_fusion.h"

#include "core/base/coll.h"

/* A call costs several times what the model counts for a message. As measured, copying in and out
 * costs less up to FUSION_MESSAGES such times, and hardly more up to FUSION_LONGEST (decision
 * 162). */
#define FUSION_MESSAGES 8
#define FUSION_LONGEST (64u << 10)

/* Returns the longest payload of a call that is fused. All ranks come to the same. */
static uint64_t fusion_limit(const weft_comm_state_t *state)
{
    const weft_family_t *family = state->self.family;
    const weft_level_t level = state->self.nhosts > 1 ? WEFT_LEVEL_BETWEEN : WEFT_LEVEL_INSIDE;
    const double copies = 2 * family->gamma[WEFT_FIGURES_COPY];
    const double most = FUSION_MESSAGES * family->model.level[level].alpha / copies;
    return family->settings.exec.fuse_bytes != 0 ? family->settings.exec.fuse_bytes
           : most < FUSION_LONGEST               ? (uint64_t)most
                                                 : FUSION_LONGEST;
}

/* A factor is each call's own. A device has its own ways: group_link_row(). */
static bool fusion_is_for(const weft_group_note_t *note)
{
    const weft_comm_state_t *state = note->state;
    const weft_args_t *args = &note->request->args;
    const uint64_t most = fusion_limit(state);
    return note->owner != WEFT_GROUP_STREAM && state->self.family->kernel.memory == NULL &&
           state->self.nranks > 1 && most > 1 && weft_coll_has_plan(args->coll) &&
           !(weft_coll_reduces(args->coll) && args->op == WEFT_PREMULSUM) &&
           weft_fusion_payload(args, state->self.nranks) <= most;
}

/* Fuses the note with the one before it, if that may be. */
static weft_status_t fusion_join(weft_group_note_t *note, bool *joined_p)
{
    weft_group_note_t *head = note->state->queue.fuses;
    const weft_args_t *args = &note->request->args;
    *joined_p = false;
    if (head == NULL || !weft_fusion_suits(&head->request->args, args)) {
        return WEFT_OK;
    }
    if (head->fusion == NULL) {
        weft_status_t status = weft_fusion_create(&head->state->self, head->request, &head->fusion);
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (weft_fusion_has_room(head->fusion, args)) {
        weft_fusion_add(head->fusion, note->request);
        *joined_p = note->fused = true;
    }
    return WEFT_OK;
}

/* Messages run beside the collectives, and part none. */
static weft_status_t fusion_take(weft_group_note_t *note)
{
    bool joined = false;
    if (note->request->args.coll == WEFT_SEND_RECV) {
        return WEFT_OK;
    }
    const bool may = fusion_is_for(note);
    weft_status_t status = may ? fusion_join(note, &joined) : WEFT_OK;
    if (!joined) {
        note->state->queue.fuses = may ? note : NULL;
    }
    return status;
}

/* One that found no other member is none. */
static void fusion_close(weft_group_note_t *note)
{
    note->state->queue.fuses = NULL;
    if (note->fusion != NULL && note->fusion->members == 1) {
        weft_os_free(note->fusion);
        note->fusion = NULL;
    }
}

weft_status_t weft_group_fuse(const weft_group_t *group)
{
    weft_status_t status = WEFT_OK;
    for (weft_group_note_t *note = group->first; note != NULL && status == WEFT_OK;
         note = note->next) {
        status = fusion_take(note);
    }
    for (weft_group_note_t *note = group->first; note != NULL; note = note->next) {
        fusion_close(note);
    }
    return status;
}
