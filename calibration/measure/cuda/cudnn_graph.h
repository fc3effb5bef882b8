/*
 * cudnn_graph.h - graphs of operations through cuDNN's backend descriptors, limited to what
 * attention needs.
 *
 * Tensors and operations are added one by one. After a call has failed, all later ones do nothing
 * and the graph keeps the reason, so that a builder reads like the equations it builds.
 * orr_cudnn_graph_plan then queries the heuristics (mode A) for engines and takes the first that
 * accepts the graph.
 *
 * A tensor is [b, h, rows, columns]. Virtual tensors exist only between operations. Scalars are
 * passed by value: the graph owns their memory.
 */
#pragma once

#include <cudnn.h>

#include "calibration/measure/cuda/cuda_private.h"

typedef struct OrrCudnnGraph OrrCudnnGraph;
typedef struct OrrTensor OrrTensor; /* owned by its graph */

OrrCudnn *orr_cudnn_graph_of(OrrBench *bench, GError **error); /* opened once per session */

OrrCudnnGraph *orr_cudnn_graph_new(OrrCudnn *cudnn);
void orr_cudnn_graph_free(OrrCudnnGraph *graph);

/* A tensor in memory, with @strides in elements; its position in launch's pointers is the order
 * of these calls, from 0. */
OrrTensor *orr_cudnn_graph_real(OrrCudnnGraph *graph, cudnnDataType_t type, const gint64 dims[4],
                                const gint64 strides[4]);
/* packed */
OrrTensor *orr_cudnn_graph_virtual(OrrCudnnGraph *graph, cudnnDataType_t type,
                                   const gint64 dims[4]);
OrrTensor *orr_cudnn_graph_view(OrrCudnnGraph *graph, cudnnDataType_t type, const gint64 dims[4],
                                const gint64 strides[4]);
OrrTensor *orr_cudnn_graph_scalar(OrrCudnnGraph *graph, float value);
OrrTensor *orr_cudnn_graph_integer(OrrCudnnGraph *graph, gint32 value);

/* @y = op(@x, @b, @t); @b and @t may be NULL. @axis: of CUDNN_POINTWISE_GEN_INDEX, else -1. */
void orr_cudnn_graph_pointwise(OrrCudnnGraph *graph, cudnnPointwiseMode_t op, gint64 axis,
                               cudnnDataType_t compute, OrrTensor *x, OrrTensor *b, OrrTensor *t,
                               OrrTensor *y);
void orr_cudnn_graph_matmul(OrrCudnnGraph *graph, OrrTensor *a, OrrTensor *b, OrrTensor *c);
void orr_cudnn_graph_reduce(OrrCudnnGraph *graph, cudnnReduceTensorOp_t op, OrrTensor *x,
                            OrrTensor *y);
/* @y: a view of @x's memory */
void orr_cudnn_graph_reshape(OrrCudnnGraph *graph, OrrTensor *x, OrrTensor *y);

/* ORR_FAULT_USAGE: cuDNN refuses the graph, on this device. */
gboolean orr_cudnn_graph_plan(OrrCudnnGraph *graph, GError **error);
gint64 orr_cudnn_graph_workspace(const OrrCudnnGraph *graph); /* bytes */

/* @pointers: of the real tensors. */
gboolean orr_cudnn_graph_launch(OrrCudnnGraph *graph, void *const *pointers, void *workspace,
                                cudaStream_t stream, GError **error);
