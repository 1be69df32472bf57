/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graphs: a row of steps for each stream that was captured, run at once at every replay. A graph
 * and what was instantiated from it share their rows, so that not even two executables of one graph
 * run at the same time. Graphs in graphs are not modelled. */
#include <stdlib.h>

#include "tests/cuda/fake.h"

struct CUgraphExec_st {
    cudaGraph_t graph;
};

void fake_graph_drop(cudaGraph_t graph)
{
    if (--graph->users > 0) {
        return;
    }
    while (graph->rows != NULL) {
        fake_row_t *row = graph->rows;
        graph->rows = row->next;
        while (row->first != NULL) {
            fake_row_drop(row);
        }
        free(row);
    }
    free(graph);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    cudaError_t error = fake_answer(__func__);
    (void)flags;
    if (error != cudaSuccess) {
        return error;
    }
    *exec = malloc(sizeof **exec);
    (*exec)->graph = graph;
    pthread_mutex_lock(&fake_lock);
    graph->users++;
    pthread_mutex_unlock(&fake_lock);
    atomic_fetch_add(&fake_cuda.graphs, 1);
    return cudaSuccess;
}

/* Under the lock: the points are as they were before the first replay. */
static uint32_t graph_reset(cudaGraph_t graph)
{
    uint32_t rows = 0;
    for (fake_row_t *row = graph->rows; row != NULL; row = row->next) {
        rows++;
        for (fake_step_t *step = row->first; step != NULL; step = step->next) {
            if (step->mark != NULL) {
                step->mark->passed = false;
            }
        }
    }
    return rows;
}

static void row_run(const void *arg, uint32_t number)
{
    const struct CUgraph_st *graph = arg;
    const fake_row_t *row = graph->rows;
    while (number-- > 0) {
        row = row->next;
    }
    pthread_mutex_lock(&fake_lock);
    for (const fake_step_t *step = row->first; step != NULL; step = step->next) {
        fake_step_do(step);
    }
    pthread_mutex_unlock(&fake_lock);
}

static void graph_run(const void *arg)
{
    cudaGraph_t graph = *(const cudaGraph_t *)arg;
    pthread_mutex_lock(&fake_lock);
    while (graph->runs) {
        fake_wait("the end of a graph");
    }
    graph->runs = true;
    const uint32_t rows = graph_reset(graph);
    pthread_mutex_unlock(&fake_lock);
    fake_together(row_run, graph, rows);
    pthread_mutex_lock(&fake_lock);
    graph->runs = false;
    fake_graph_drop(graph);
    fake_changed();
    pthread_mutex_unlock(&fake_lock);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle)
{
    cudaError_t error = fake_answer(__func__);
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    if (error == cudaSuccess && stream == NULL) {
        error = cudaErrorInvalidResourceHandle;
    } else if (error == cudaSuccess && stream->capture != NULL) {
        error = cudaErrorNotSupported;
    }
    if (error == cudaSuccess) {
        const fake_step_t step = {.name = "a graph", .work = graph_run};
        fake_stream_admit(stream);
        error = fake_stream_put(stream, &step, &exec->graph, sizeof(cudaGraph_t));
        exec->graph->users += error == cudaSuccess;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static void graph_give(cudaGraph_t graph)
{
    pthread_mutex_lock(&fake_lock);
    fake_graph_drop(graph);
    pthread_mutex_unlock(&fake_lock);
    atomic_fetch_sub(&fake_cuda.graphs, 1);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    graph_give(exec->graph);
    free(exec);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    graph_give(graph);
    return cudaSuccess;
}
