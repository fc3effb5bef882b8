/*
 * cudnn_graph.c - builds cuDNN's backend descriptors, finds an engine for the graph and launches
 * it.
 */
#include "calibration/measure/cuda/cudnn_graph.h"

#include <stdbool.h> /* cuDNN's BOOLEAN attributes are that wide */

enum { MOST_TENSORS = 48, MOST_OPERATIONS = 40, MOST_ENGINES = 16 };

struct OrrCudnn {
  __typeof__(&cudnnCreate) create;
  __typeof__(&cudnnDestroy) destroy;
  __typeof__(&cudnnSetStream) set_stream;
  __typeof__(&cudnnGetVersion) version;
  __typeof__(&cudnnGetErrorString) error_text;
  __typeof__(&cudnnBackendCreateDescriptor) new_descriptor;
  __typeof__(&cudnnBackendDestroyDescriptor) free_descriptor;
  __typeof__(&cudnnBackendSetAttribute) set;
  __typeof__(&cudnnBackendGetAttribute) get;
  __typeof__(&cudnnBackendFinalize) finalize;
  __typeof__(&cudnnBackendExecute) execute;
  cudnnHandle_t handle;
};

static const OrrCudaSymbol symbols[] = {
    {"cudnnCreate", offsetof(OrrCudnn, create)},
    {"cudnnDestroy", offsetof(OrrCudnn, destroy)},
    {"cudnnSetStream", offsetof(OrrCudnn, set_stream)},
    {"cudnnGetVersion", offsetof(OrrCudnn, version)},
    {"cudnnGetErrorString", offsetof(OrrCudnn, error_text)},
    {"cudnnBackendCreateDescriptor", offsetof(OrrCudnn, new_descriptor)},
    {"cudnnBackendDestroyDescriptor", offsetof(OrrCudnn, free_descriptor)},
    {"cudnnBackendSetAttribute", offsetof(OrrCudnn, set)},
    {"cudnnBackendGetAttribute", offsetof(OrrCudnn, get)},
    {"cudnnBackendFinalize", offsetof(OrrCudnn, finalize)},
    {"cudnnBackendExecute", offsetof(OrrCudnn, execute)},
};
#define FILE_OF(major_) "libcudnn.so." G_STRINGIFY(major_)
static const char *const files[] = {FILE_OF(CUDNN_MAJOR), NULL};

struct OrrTensor {
  cudnnBackendDescriptor_t descriptor;
};

struct OrrCudnnGraph {
  OrrCudnn *cudnn;
  OrrTensor tensors[MOST_TENSORS];
  guint n_tensors, n_real, n_scalars, n_operations, n_engines;
  gint64 uids[MOST_TENSORS]; /* of the real tensors in their order, then of scalars */
  gint64 scalar_uids[MOST_TENSORS];
  union {
    float real;
    gint32 integer;
  } scalars[MOST_TENSORS];
  cudnnBackendDescriptor_t operations[MOST_OPERATIONS], modes[MOST_OPERATIONS];
  guint n_modes;
  cudnnBackendDescriptor_t graph, heuristic, engines[MOST_ENGINES], plan, pack;
  gint64 workspace;
  cudnnStatus_t status; /* status of the first call that failed */
  const char *failed;   /* what it was */
};

/* --- The library --- */

char *orr_cudnn_version(void) {
  OrrCudnn table;
  if (!orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &table, NULL))
    return g_strdup("");
  const size_t version = table.version();
  return g_strdup_printf("%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

OrrCudnn *orr_cudnn_graph_of(OrrBench *bench, GError **error) {
  if (bench->cudnn) return bench->cudnn;
  OrrCudnn *cudnn = g_new0(OrrCudnn, 1);
  if (!orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), cudnn, error)) {
    g_free(cudnn);
    return NULL;
  }
  const cudnnStatus_t status = cudnn->create(&cudnn->handle);
  if (status == CUDNN_STATUS_SUCCESS) return bench->cudnn = cudnn;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "cuDNN: %s", cudnn->error_text(status));
  g_free(cudnn);
  return NULL;
}

void orr_cudnn_free(OrrCudnn *cudnn) {
  if (cudnn && cudnn->handle) cudnn->destroy(cudnn->handle);
  g_free(cudnn);
}

/* --- Descriptors --- */

OrrCudnnGraph *orr_cudnn_graph_new(OrrCudnn *cudnn) {
  OrrCudnnGraph *graph = g_new0(OrrCudnnGraph, 1);
  graph->cudnn = cudnn;
  return graph;
}

static void free_descriptors(const OrrCudnnGraph *graph, cudnnBackendDescriptor_t *descriptors,
                             guint n) {
  for (guint i = 0; i < n; i++)
    if (descriptors[i]) graph->cudnn->free_descriptor(descriptors[i]);
}

void orr_cudnn_graph_free(OrrCudnnGraph *graph) {
  if (!graph) return;
  free_descriptors(graph, &graph->pack, 1);
  free_descriptors(graph, &graph->plan, 1);
  free_descriptors(graph, graph->engines, graph->n_engines);
  free_descriptors(graph, &graph->heuristic, 1);
  free_descriptors(graph, &graph->graph, 1);
  free_descriptors(graph, graph->operations, graph->n_operations);
  free_descriptors(graph, graph->modes, graph->n_modes);
  for (guint i = 0; i < graph->n_tensors; i++)
    free_descriptors(graph, &graph->tensors[i].descriptor, 1);
  g_free(graph);
}

static void check(OrrCudnnGraph *graph, cudnnStatus_t status, const char *what) {
  if (graph->failed || status == CUDNN_STATUS_SUCCESS) return;
  graph->status = status;
  graph->failed = what;
}

static void make(OrrCudnnGraph *graph, cudnnBackendDescriptorType_t type,
                 cudnnBackendDescriptor_t *ret_descriptor) {
  if (!graph->failed)
    check(graph, graph->cudnn->new_descriptor(type, ret_descriptor), "a descriptor");
}

static void set(OrrCudnnGraph *graph, cudnnBackendDescriptor_t descriptor,
                cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, gint64 n,
                const void *values, const char *what) {
  if (!graph->failed) check(graph, graph->cudnn->set(descriptor, name, type, n, values), what);
}

static void set_descriptor(OrrCudnnGraph *graph, cudnnBackendDescriptor_t descriptor,
                           cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value,
                           const char *what) {
  set(graph, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, what);
}

static void finish(OrrCudnnGraph *graph, cudnnBackendDescriptor_t descriptor, const char *what) {
  if (!graph->failed) check(graph, graph->cudnn->finalize(descriptor), what);
}

/* --- Tensors --- */

static OrrTensor *add_tensor(OrrCudnnGraph *graph, cudnnDataType_t type, const gint64 dims[4],
                             const gint64 strides[4], gboolean is_virtual, gboolean is_value) {
  g_assert(graph->n_tensors < MOST_TENSORS);
  OrrTensor *tensor = &graph->tensors[graph->n_tensors];
  const gint64 uid = graph->n_tensors + 1, alignment = 16;
  const bool virtual_flag = is_virtual, value_flag = is_value;
  graph->n_tensors++;
  make(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor->descriptor);
  set(graph, tensor->descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid, "tensor");
  set(graph, tensor->descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type,
      "tensor type");
  set(graph, tensor->descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment,
      "alignment");
  set(graph, tensor->descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims,
      "tensor dims");
  set(graph, tensor->descriptor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides,
      "tensor strides");
  if (is_virtual)
    set(graph, tensor->descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
        &virtual_flag, "virtual");
  if (is_value)
    set(graph, tensor->descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1,
        &value_flag, "by value");
  finish(graph, tensor->descriptor, "a tensor");
  return tensor;
}

OrrTensor *orr_cudnn_graph_real(OrrCudnnGraph *graph, cudnnDataType_t type, const gint64 dims[4],
                                const gint64 strides[4]) {
  OrrTensor *tensor = add_tensor(graph, type, dims, strides, FALSE, FALSE);
  graph->uids[graph->n_real++] = graph->n_tensors;
  return tensor;
}

OrrTensor *orr_cudnn_graph_virtual(OrrCudnnGraph *graph, cudnnDataType_t type,
                                   const gint64 dims[4]) {
  const gint64 strides[4] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
  return add_tensor(graph, type, dims, strides, TRUE, FALSE);
}

OrrTensor *orr_cudnn_graph_view(OrrCudnnGraph *graph, cudnnDataType_t type, const gint64 dims[4],
                                const gint64 strides[4]) {
  return add_tensor(graph, type, dims, strides, TRUE, FALSE);
}

static OrrTensor *add_scalar(OrrCudnnGraph *graph, cudnnDataType_t type) {
  static const gint64 ones[4] = {1, 1, 1, 1};
  OrrTensor *tensor = add_tensor(graph, type, ones, ones, FALSE, TRUE);
  graph->scalar_uids[graph->n_scalars++] = graph->n_tensors;
  return tensor;
}

OrrTensor *orr_cudnn_graph_scalar(OrrCudnnGraph *graph, float value) {
  OrrTensor *tensor = add_scalar(graph, CUDNN_DATA_FLOAT);
  graph->scalars[graph->n_scalars - 1].real = value;
  return tensor;
}

OrrTensor *orr_cudnn_graph_integer(OrrCudnnGraph *graph, gint32 value) {
  OrrTensor *tensor = add_scalar(graph, CUDNN_DATA_INT32);
  graph->scalars[graph->n_scalars - 1].integer = value;
  return tensor;
}

/* --- Operations --- */

/* A descriptor of the operation's kind (mode), and one of the operation. */
static cudnnBackendDescriptor_t add_mode(OrrCudnnGraph *graph, cudnnBackendDescriptorType_t type) {
  g_assert(graph->n_modes < MOST_OPERATIONS);
  cudnnBackendDescriptor_t *mode = &graph->modes[graph->n_modes++];
  make(graph, type, mode);
  return *mode;
}

static cudnnBackendDescriptor_t add_operation(OrrCudnnGraph *graph,
                                              cudnnBackendDescriptorType_t type) {
  g_assert(graph->n_operations < MOST_OPERATIONS);
  cudnnBackendDescriptor_t *operation = &graph->operations[graph->n_operations++];
  make(graph, type, operation);
  return *operation;
}

void orr_cudnn_graph_pointwise(OrrCudnnGraph *graph, cudnnPointwiseMode_t op, gint64 axis,
                               cudnnDataType_t compute, OrrTensor *x, OrrTensor *b, OrrTensor *t,
                               OrrTensor *y) {
  cudnnBackendDescriptor_t mode = add_mode(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(graph, mode, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &op, "pointwise mode");
  set(graph, mode, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute,
      "pointwise precision");
  if (axis >= 0)
    set(graph, mode, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis, "pointwise axis");
  finish(graph, mode, "a pointwise mode");
  cudnnBackendDescriptor_t operation =
      add_operation(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode, "pointwise");
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x->descriptor,
                 "pointwise x");
  if (b)
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor,
                   "pointwise b");
  if (t)
    set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t->descriptor,
                   "pointwise t");
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y->descriptor,
                 "pointwise y");
  finish(graph, operation, "a pointwise operation");
}

void orr_cudnn_graph_matmul(OrrCudnnGraph *graph, OrrTensor *a, OrrTensor *b, OrrTensor *c) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnBackendDescriptor_t mode = add_mode(graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  set(graph, mode, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute,
      "matmul precision");
  finish(graph, mode, "a matmul mode");
  cudnnBackendDescriptor_t operation =
      add_operation(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, mode, "matmul");
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a->descriptor, "matmul a");
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b->descriptor, "matmul b");
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c->descriptor, "matmul c");
  finish(graph, operation, "a matmul");
}

void orr_cudnn_graph_reduce(OrrCudnnGraph *graph, cudnnReduceTensorOp_t op, OrrTensor *x,
                            OrrTensor *y) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnBackendDescriptor_t mode = add_mode(graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  set(graph, mode, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op,
      "reduction mode");
  set(graph, mode, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute,
      "reduction precision");
  finish(graph, mode, "a reduction mode");
  cudnnBackendDescriptor_t operation =
      add_operation(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, mode, "reduction");
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x->descriptor,
                 "reduction x");
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y->descriptor,
                 "reduction y");
  finish(graph, operation, "a reduction");
}

void orr_cudnn_graph_reshape(OrrCudnnGraph *graph, OrrTensor *x, OrrTensor *y) {
  cudnnBackendDescriptor_t operation =
      add_operation(graph, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x->descriptor, "reshape x");
  set_descriptor(graph, operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y->descriptor, "reshape y");
  finish(graph, operation, "a reshape");
}

/* --- The plan --- */

static void make_graph(OrrCudnnGraph *graph) {
  const cudnnHandle_t handle = graph->cudnn->handle;
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  make(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph->graph);
  set(graph, graph->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      graph->n_operations, graph->operations, "operations");
  set(graph, graph->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle,
      "handle");
  finish(graph, graph->graph, "the graph");
  make(graph, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &graph->heuristic);
  set_descriptor(graph, graph->heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph->graph,
                 "heuristics");
  set(graph, graph->heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode,
      "heuristics");
  finish(graph, graph->heuristic, "heuristics");
}

static gint64 list_engines(OrrCudnnGraph *graph) {
  int64_t n_found = 0;
  for (guint i = 0; i < MOST_ENGINES; i++)
    make(graph, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &graph->engines[i]);
  graph->n_engines = MOST_ENGINES;
  if (!graph->failed)
    check(graph,
          graph->cudnn->get(graph->heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                            CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_ENGINES, &n_found, graph->engines),
          "engines");
  return graph->failed ? 0 : MIN(n_found, MOST_ENGINES);
}

/* An engine may refuse when its plan is made: then try the next one. */
static gboolean try_engine(OrrCudnnGraph *graph, cudnnBackendDescriptor_t engine) {
  const OrrCudnn *cudnn = graph->cudnn;
  const cudnnHandle_t handle = cudnn->handle;
  int64_t n = 0;
  if (cudnn->new_descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &graph->plan) !=
      CUDNN_STATUS_SUCCESS)
    return FALSE;
  if (cudnn->set(graph->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle) ==
          CUDNN_STATUS_SUCCESS &&
      cudnn->set(graph->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine) == CUDNN_STATUS_SUCCESS &&
      cudnn->finalize(graph->plan) == CUDNN_STATUS_SUCCESS &&
      cudnn->get(graph->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n,
                 &graph->workspace) == CUDNN_STATUS_SUCCESS)
    return TRUE;
  cudnn->free_descriptor(graph->plan);
  graph->plan = NULL;
  return FALSE;
}

gboolean orr_cudnn_graph_plan(OrrCudnnGraph *graph, GError **error) {
  make_graph(graph);
  const gint64 n_engines = list_engines(graph);
  for (gint64 i = 0; i < n_engines; i++)
    if (try_engine(graph, graph->engines[i])) {
      make(graph, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &graph->pack);
      return !graph->failed;
    }
  if (graph->failed)
    return orr_fault_set(error, ORR_FAULT_USAGE, "cuDNN refuses the attention graph: %s: %s",
                         graph->failed, graph->cudnn->error_text(graph->status));
  return orr_fault_set(error, ORR_FAULT_USAGE, "cuDNN has no engine for the attention graph");
}

gint64 orr_cudnn_graph_workspace(const OrrCudnnGraph *graph) { return graph->workspace; }

gboolean orr_cudnn_graph_launch(OrrCudnnGraph *graph, void *const *pointers, void *workspace,
                                cudaStream_t stream, GError **error) {
  const OrrCudnn *cudnn = graph->cudnn;
  void *all[2 * MOST_TENSORS];
  gint64 uids[2 * MOST_TENSORS];
  const guint n = graph->n_real + graph->n_scalars;
  for (guint i = 0; i < graph->n_real; i++) all[i] = pointers[i], uids[i] = graph->uids[i];
  for (guint i = 0; i < graph->n_scalars; i++) {
    all[graph->n_real + i] = &graph->scalars[i];
    uids[graph->n_real + i] = graph->scalar_uids[i];
  }
  /* Make a new pack for each launch: a finalized one cannot be changed. A launch that fails, as in
   * a capture, does not spoil the graph for the next one. */
  free_descriptors(graph, &graph->pack, 1);
  graph->pack = NULL;
  make(graph, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &graph->pack);
  set(graph, graph->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, all,
      "pointers");
  set(graph, graph->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, uids, "ids");
  set(graph, graph->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace,
      "workspace");
  finish(graph, graph->pack, "the variant pack");
  if (!graph->failed) check(graph, cudnn->set_stream(cudnn->handle, stream), "cudnnSetStream");
  if (!graph->failed)
    check(graph, cudnn->execute(cudnn->handle, graph->plan, graph->pack), "cudnnBackendExecute");
  const char *failed = g_steal_pointer(&graph->failed);
  if (!failed) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "cuDNN: %s: %s", failed,
                       cudnn->error_text(graph->status));
}
