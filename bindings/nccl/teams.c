/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's part of NCCL's API for kernels: it says that there is none. A rank reaches no other
 * rank by loads and stores, so its team of such ranks is itself alone. */
#include <string.h>

#include "bindings/nccl/comm.h"
#include "bindings/nccl/functions.h"

NCCL_EXPORT ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t *properties)
{
    if (properties == NULL || properties->magic != NCCL_API_MAGIC ||
        properties->size < offsetof(ncclCommProperties_t, rank)) {
        return nccl_fail(ncclInvalidArgument, "%s: props %s", __func__,
                         properties == NULL ? "is NULL" : "was not set to its INITIALIZER");
    }
    ncclResult_t result = nccl_comm_enter(__func__, comm);
    if (result != ncclSuccess) {
        return result;
    }
    const ncclCommProperties_t all = {
        .size = properties->size,
        .magic = properties->magic,
        .version = properties->version,
        .rank = comm->rank,
        .nRanks = comm->nranks,
        .cudaDev = comm->device,
        .nvmlDev = comm->device,
        .nLsaTeams = comm->nranks,
        .hostRmaSupport = true,
    };
    memcpy(properties, &all, properties->size < sizeof all ? properties->size : sizeof all);
    nccl_comm_release(comm);
    return ncclSuccess;
}
NCCL_TWIN(ncclCommQueryProperties);

/* A team without ranks, if `comm` is none. */
static ncclTeam_t team_of_all(const char *call, ncclComm_t comm)
{
    if (nccl_comm_enter(call, comm) != ncclSuccess) {
        return (ncclTeam_t){.nRanks = 0};
    }
    const ncclTeam_t team = {.nRanks = comm->nranks, .rank = comm->rank, .stride = 1};
    nccl_comm_release(comm);
    return team;
}

NCCL_EXPORT ncclTeam_t ncclTeamWorld(ncclComm_t comm)
{
    return team_of_all(__func__, comm);
}
NCCL_TWIN(ncclTeamWorld);

NCCL_EXPORT ncclTeam_t ncclTeamLsa(ncclComm_t comm)
{
    ncclTeam_t team = team_of_all(__func__, comm);
    return (ncclTeam_t){.nRanks = team.nRanks > 0 ? 1 : 0, .rank = 0, .stride = 1};
}
NCCL_TWIN(ncclTeamLsa);

/* The ranks with the same number in their teams of neighbours: all. */
NCCL_EXPORT ncclTeam_t ncclTeamRail(ncclComm_t comm)
{
    return team_of_all(__func__, comm);
}
NCCL_TWIN(ncclTeamRail);

/* The ranks whose memory this one's adapters write: none but itself. */
NCCL_EXPORT ncclTeam_t ncclTeamCft(ncclComm_t comm, int mode)
{
    (void)mode;
    return ncclTeamLsa(comm);
}
NCCL_TWIN(ncclTeamCft);

NCCL_EXPORT ncclTeam_t ncclTeamCftMultimem(ncclComm_t comm)
{
    return ncclTeamLsa(comm);
}
NCCL_TWIN(ncclTeamCftMultimem);

NCCL_EXPORT int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank)
{
    return team_of_all(__func__, comm).rank + (rank - team.rank) * team.stride;
}
NCCL_TWIN(ncclTeamRankToWorld);

/* The number among this rank's neighbours: 0 is the rank itself, others are outside. */
NCCL_EXPORT int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank)
{
    (void)comm;
    return (rank - team.rank) * team.stride;
}
NCCL_TWIN(ncclTeamRankToLsa);
