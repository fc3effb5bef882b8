/*
 * fake_dnn.c - libcudnn on the fake machine: backend descriptors as bags of attributes, and an
 * interpreter of graphs of operations. It knows nothing of attention: a graph with a wrong mask,
 * scale or order of operations gives wrong results here, as it would on a GPU.
 *
 * A result is computed line by line. Line i of a tensor of scores is row i or column i of one
 * batch and head, evaluated from the lines of the operands:
 *
 *   pointwise   line = op(lines of x, b, t), sizes of 1 repeated
 *   matmul      row i = sum over k of a[i, k] * row k of b;  column j: all rows of a times column j
 *   reduction   one number per row, or the sum of the heads of a group
 *   reshape     the other line of the same memory
 */
#include <cudnn.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "calibration/measure/reference.h"
#include "tests/calibration/fake_gpu/fake_gpu.h"

enum { WORKSPACE = 4096 };

typedef struct {
  int name;
  gsize bytes;
  gpointer values;
} Attribute;

typedef struct Program Program;

typedef struct {
  cudnnBackendDescriptorType_t type;
  GArray *attributes; /* of Attribute */
  Program *program;   /* of a plan */
  gboolean refuses;   /* an engine that cannot make a plan */
} Descriptor;

typedef struct {
  cudaStream_t stream;
} Handle;

size_t cudnnGetVersion(void) { return CUDNN_VERSION; }

const char *cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                              : "CUDNN_STATUS_EXECUTION_FAILED";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = (cudnnHandle_t)(void *)g_new0(Handle, 1);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  g_free(handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  ((Handle *)(void *)handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

/* --- Descriptors --- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor) {
  Descriptor *made = g_new0(Descriptor, 1);
  made->type = type;
  made->attributes = g_array_new(FALSE, FALSE, sizeof(Attribute));
  *descriptor = (cudnnBackendDescriptor_t)made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  Descriptor *descriptor = (Descriptor *)handle;
  for (guint i = 0; i < descriptor->attributes->len; i++)
    g_free(g_array_index(descriptor->attributes, Attribute, i).values);
  g_array_unref(descriptor->attributes);
  g_free(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

static gsize size_of(cudnnBackendAttributeType_t type) {
  return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_BACKEND_DESCRIPTOR ||
                 type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_HANDLE
             ? 8
         : type == CUDNN_TYPE_BOOLEAN ? 1
                                      : 4;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values) {
  const gsize bytes = size_of(type) * (gsize)n;
  const Attribute attribute = {(int)name, bytes, g_memdup2(values, bytes)};
  g_array_append_val(((Descriptor *)handle)->attributes, attribute);
  return CUDNN_STATUS_SUCCESS;
}

static const Attribute *attribute_of(const Descriptor *descriptor, int name) {
  for (guint i = 0; i < descriptor->attributes->len; i++) {
    const Attribute *attribute = &g_array_index(descriptor->attributes, Attribute, i);
    if (attribute->name == name) return attribute;
  }
  return NULL;
}

static gint64 number(const Descriptor *descriptor, int name, gint64 otherwise) {
  const Attribute *attribute = attribute_of(descriptor, name);
  if (!attribute) return otherwise;
  if (attribute->bytes == 1) return *(const bool *)attribute->values;
  return attribute->bytes == 4 ? *(const gint32 *)attribute->values
                               : *(const gint64 *)attribute->values;
}

static Descriptor *child(const Descriptor *descriptor, int name) {
  const Attribute *attribute = attribute_of(descriptor, name);
  return attribute ? *(Descriptor *const *)attribute->values : NULL;
}

/* --- Programs --- */

enum { MOST = 64 };

typedef struct {
  int type; /* cudnnDataType_t */
  gint64 uid, dims[4], strides[4];
  gboolean is_virtual, is_value;
  char *at;
  double value; /* of a tensor by value */
  int made_by;  /* the operation; -1 */
} Tensor;

typedef struct {
  cudnnBackendDescriptorType_t type;
  int mode, axis;
  int x, b, t, y; /* tensors; -1: none */
} Operation;

struct Program {
  Tensor tensors[MOST];
  Operation operations[MOST];
  int n_tensors, n_operations;
};

static int tensor_of(Program *program, const Descriptor *descriptor) {
  if (!descriptor) return -1;
  const gint64 uid = number(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, -1);
  for (int i = 0; i < program->n_tensors; i++)
    if (program->tensors[i].uid == uid) return i;
  Tensor *tensor = &program->tensors[program->n_tensors];
  tensor->uid = uid;
  tensor->made_by = -1;
  tensor->type = (int)number(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, 0);
  tensor->is_virtual = number(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0) != 0;
  tensor->is_value = number(descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0) != 0;
  memcpy(tensor->dims, attribute_of(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS)->values, 32);
  memcpy(tensor->strides, attribute_of(descriptor, CUDNN_ATTR_TENSOR_STRIDES)->values, 32);
  return program->n_tensors++;
}

/* By kind of operation: the attributes of mode, x, b, t and y. */
static const struct {
  cudnnBackendDescriptorType_t type;
  int mode, kind, axis, x, b, t, y;
} operation_kinds[] = {
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_ATTR_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
     CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
     CUDNN_ATTR_OPERATION_POINTWISE_YDESC},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_DESC, -1, -1,
     CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC, -1,
     CUDNN_ATTR_OPERATION_MATMUL_CDESC},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_DESC,
     CUDNN_ATTR_REDUCTION_OPERATOR, -1, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, -1, -1,
     CUDNN_ATTR_OPERATION_REDUCTION_YDESC},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, -1, -1, -1, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, -1,
     -1, CUDNN_ATTR_OPERATION_RESHAPE_YDESC},
};

static void add_operation(Program *program, const Descriptor *descriptor) {
  guint k = 0;
  while (operation_kinds[k].type != descriptor->type) k++;
  const Descriptor *mode =
      operation_kinds[k].mode >= 0 ? child(descriptor, operation_kinds[k].mode) : NULL;
  Operation *operation = &program->operations[program->n_operations];
  *operation = (Operation){.type = descriptor->type,
                           .mode = mode ? (int)number(mode, operation_kinds[k].kind, -1) : -1,
                           .axis = mode ? (int)number(mode, operation_kinds[k].axis, -1) : -1,
                           .x = tensor_of(program, child(descriptor, operation_kinds[k].x)),
                           .b = tensor_of(program, child(descriptor, operation_kinds[k].b)),
                           .t = tensor_of(program, child(descriptor, operation_kinds[k].t)),
                           .y = tensor_of(program, child(descriptor, operation_kinds[k].y))};
  program->tensors[operation->y].made_by = program->n_operations++;
}

static Program *program_of(const Descriptor *graph) {
  const Attribute *operations = attribute_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  Program *program = g_new0(Program, 1);
  for (gsize i = 0; i < operations->bytes / sizeof(gpointer); i++)
    add_operation(program, ((Descriptor *const *)operations->values)[i]);
  return program;
}

/* --- Lines --- */

static int format_of(int type) {
  return type == CUDNN_DATA_HALF       ? ORR_FORMAT_FP16
         : type == CUDNN_DATA_BFLOAT16 ? ORR_FORMAT_BF16
                                       : ORR_FORMAT_FP32;
}

typedef struct {
  gint64 batch, head;
} Place;

static double *line_of(const Program *program, int tensor, Place place, gint64 index,
                       gboolean is_column, gint64 *ret_n);

static double *real_line(const Tensor *tensor, Place place, gint64 index, gboolean is_column,
                         gint64 *ret_n) {
  const gint64 *dims = tensor->dims, *strides = tensor->strides;
  const gint64 along = is_column ? 2 : 3, across = is_column ? 3 : 2, n = dims[along];
  const gint64 first = (dims[0] > 1 ? place.batch * strides[0] : 0) +
                       (dims[1] > 1 ? place.head * strides[1] : 0) +
                       (dims[across] > 1 ? index * strides[across] : 0);
  const int format = format_of(tensor->type);
  const gsize size = tensor->type == CUDNN_DATA_INT32 ? 4 : fake_bytes(format, 1);
  double *values = g_new(double, n);
  *ret_n = n;
  if (strides[along] == 1 && tensor->type != CUDNN_DATA_INT32) {
    g_autofree float *line = g_new(float, n);
    fake_decode_line(format, tensor->at, (gsize)first, (gsize)n, line);
    for (gint64 i = 0; i < n; i++) values[i] = line[i];
    return values;
  }
  for (gint64 i = 0; i < n; i++) {
    const gsize at = (gsize)(first + i * strides[along]);
    fake_touch(tensor->at + at * size, size);
    values[i] = tensor->type == CUDNN_DATA_INT32
                    ? ((const gint32 *)(void *)tensor->at)[at]
                    : orr_format_decode((OrrFormat)format, tensor->at, at);
  }
  return values;
}

static double apply(int mode, double x, double b, double t) {
  switch (mode) {
  case CUDNN_POINTWISE_ADD:
    return x + b;
  case CUDNN_POINTWISE_SUB:
    return x - b;
  case CUDNN_POINTWISE_MUL:
    return x * b;
  case CUDNN_POINTWISE_DIV:
    return x / b;
  case CUDNN_POINTWISE_EXP:
    return exp(x);
  case CUDNN_POINTWISE_LOG:
    return log(x);
  case CUDNN_POINTWISE_CMP_GE:
    return x >= b;
  case CUDNN_POINTWISE_CMP_LT:
    return x < b;
  case CUDNN_POINTWISE_LOGICAL_AND:
    return x != 0 && b != 0;
  case CUDNN_POINTWISE_BINARY_SELECT:
    return t != 0 ? x : b;
  default:
    g_assert_not_reached();
  }
}

static double *pointwise_line(const Program *program, const Operation *operation, Place place,
                              gint64 index, gboolean is_column, gint64 *ret_n) {
  const gint64 n = program->tensors[operation->y].dims[is_column ? 2 : 3];
  double *values = g_new(double, n);
  const int operands[3] = {operation->x, operation->b, operation->t};
  double *lines[3] = {NULL};
  gint64 lengths[3] = {1, 1, 1};
  *ret_n = n;
  if (operation->mode == CUDNN_POINTWISE_GEN_INDEX) {
    const gboolean is_along = operation->axis == (is_column ? 2 : 3);
    for (gint64 i = 0; i < n; i++) values[i] = (double)(is_along ? i : index);
    return values;
  }
  for (int k = 0; k < 3; k++)
    if (operands[k] >= 0)
      lines[k] = line_of(program, operands[k], place, index, is_column, &lengths[k]);
  for (gint64 i = 0; i < n; i++)
    values[i] = apply(operation->mode, lines[0][lengths[0] > 1 ? i : 0],
                      lines[1] ? lines[1][lengths[1] > 1 ? i : 0] : 0,
                      lines[2] ? lines[2][lengths[2] > 1 ? i : 0] : 0);
  for (int k = 0; k < 3; k++) g_free(lines[k]);
  return values;
}

static double dot(const double *a, const double *b, gint64 n) {
  double sum = 0;
  for (gint64 i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Heads of the right operand may serve a group of heads of the left one. */
static Place of_group(const Program *program, int tensor, gint64 heads, Place place) {
  const gint64 own = program->tensors[tensor].dims[1];
  return (Place){place.batch, own < heads ? place.head / (heads / own) : place.head};
}

static double *matmul_line(const Program *program, const Operation *operation, Place place,
                           gint64 index, gboolean is_column, gint64 *ret_n) {
  const Tensor *a = &program->tensors[operation->x], *b = &program->tensors[operation->b];
  const Tensor *c = &program->tensors[operation->y];
  const Place right = of_group(program, operation->b, c->dims[1], place);
  const gint64 n = c->dims[is_column ? 2 : 3];
  const gboolean by_rows = !is_column && b->strides[3] == 1;
  double *values = g_new0(double, n);
  gint64 n_inner, n_line;
  g_autofree double *fixed = is_column
                                 ? line_of(program, operation->b, right, index, TRUE, &n_inner)
                                 : line_of(program, operation->x, place, index, FALSE, &n_inner);
  g_assert(n_inner == a->dims[3] && n_inner == b->dims[2]);
  for (gint64 i = 0; i < (by_rows ? n_inner : n); i++) {
    if (by_rows && fixed[i] == 0) continue; /* masked */
    g_autofree double *line = is_column
                                  ? line_of(program, operation->x, place, i, FALSE, &n_line)
                                  : line_of(program, operation->b, right, i, !by_rows, &n_line);
    if (by_rows)
      for (gint64 j = 0; j < n; j++) values[j] += fixed[i] * line[j];
    else
      values[i] = dot(fixed, line, n_inner);
  }
  *ret_n = n;
  return values;
}

static double reduced(int mode, const double *values, gint64 n) {
  double result = mode == CUDNN_REDUCE_TENSOR_MAX ? -INFINITY : 0;
  for (gint64 i = 0; i < n; i++)
    result = mode == CUDNN_REDUCE_TENSOR_MAX ? fmax(result, values[i]) : result + values[i];
  return result;
}

static double *reduction_line(const Program *program, const Operation *operation, Place place,
                              gint64 index, gboolean is_column, gint64 *ret_n) {
  const Tensor *x = &program->tensors[operation->x], *y = &program->tensors[operation->y];
  const gint64 group = x->dims[1] / y->dims[1], n = y->dims[is_column ? 2 : 3];
  double *values = g_new0(double, n);
  gint64 n_line;
  *ret_n = n;
  for (gint64 h = 0; group > 1 && h < group; h++) {
    const Place one = {place.batch, place.head * group + h};
    g_autofree double *line = line_of(program, operation->x, one, index, is_column, &n_line);
    for (gint64 i = 0; i < n; i++) values[i] += line[i];
  }
  for (gint64 i = 0; group == 1 && i < n; i++) {
    g_autofree double *line =
        line_of(program, operation->x, place, is_column ? i : index, FALSE, &n_line);
    values[i] = reduced(operation->mode, line, n_line);
  }
  return values;
}

static double *compute_line(const Program *program, int tensor, Place place, gint64 index,
                            gboolean is_column, gint64 *ret_n) {
  const Tensor *one = &program->tensors[tensor];
  if (one->is_value) {
    double *value = g_new(double, 1);
    *value = one->value;
    *ret_n = 1;
    return value;
  }
  if (!one->is_virtual) return real_line(one, place, index, is_column, ret_n);
  const Operation *operation = &program->operations[one->made_by];
  switch (operation->type) {
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    return pointwise_line(program, operation, place, index, is_column, ret_n);
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    return matmul_line(program, operation, place, index, is_column, ret_n);
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    return reduction_line(program, operation, place, index, is_column, ret_n);
  default:
    return line_of(program, operation->x, place, index, !is_column, ret_n);
  }
}

/* Rows that several operations read are computed once: the newest ones of a result. */
typedef struct {
  int tensor;
  Place place;
  gint64 index, n;
  double *values;
} Known;

enum { MOST_KNOWN = 16 };
static Known known[MOST_KNOWN];
static int n_known;

static void forget(void) {
  while (n_known) g_free(known[--n_known].values);
}

static double *line_of(const Program *program, int tensor, Place place, gint64 index,
                       gboolean is_column, gint64 *ret_n) {
  const gboolean is_kept = !is_column && program->tensors[tensor].is_virtual;
  for (int i = 0; is_kept && i < n_known; i++)
    if (known[i].tensor == tensor && known[i].index == index &&
        known[i].place.batch == place.batch && known[i].place.head == place.head) {
      *ret_n = known[i].n;
      return g_memdup2(known[i].values, (gsize)known[i].n * sizeof(double));
    }
  double *values = compute_line(program, tensor, place, index, is_column, ret_n);
  if (is_kept && n_known < MOST_KNOWN)
    known[n_known++] =
        (Known){tensor, place, index, *ret_n, g_memdup2(values, (gsize)*ret_n * sizeof(double))};
  return values;
}

/* --- Results --- */

typedef struct {
  const Program *program;
  int tensor;
} Result;

/* The coordinates of element @offset: along the strides, the longest first. */
static void coordinates_of(const Tensor *tensor, gint64 offset, gint64 *at) {
  gboolean seen[4] = {FALSE};
  for (int n = 0; n < 4; n++) {
    int longest = -1;
    for (int i = 0; i < 4; i++)
      if (!seen[i] && tensor->dims[i] > 1 &&
          (longest < 0 || tensor->strides[i] > tensor->strides[longest]))
        longest = i;
    if (longest < 0) return;
    seen[longest] = TRUE;
    at[longest] = offset / tensor->strides[longest];
    offset %= tensor->strides[longest];
  }
}

static void result_row(gconstpointer context, gsize index, void *out) {
  const Result *result = context;
  Program program = *result->program;
  Tensor *tensor = &program.tensors[result->tensor];
  gint64 at[4] = {0}, n;
  coordinates_of(tensor, (gint64)index * tensor->dims[3], at);
  tensor->is_virtual = TRUE; /* compute it, do not read it */
  forget();
  g_autofree double *line =
      line_of(&program, result->tensor, (Place){at[0], at[1]}, at[2], FALSE, &n);
  forget();
  for (gint64 i = 0; i < n; i++) fake_encode(format_of(tensor->type), line[i], out, (gsize)i);
}

static gsize elements_of(const Tensor *tensor) {
  return (gsize)(tensor->dims[0] * tensor->dims[1] * tensor->dims[2] * tensor->dims[3]);
}

static void write_results(const Program *program) {
  static GPtrArray *kept; /* programs live as long as what they will compute */
  Program *copy = g_memdup2(program, sizeof *program);
  if (!kept) kept = g_ptr_array_new();
  g_ptr_array_add(kept, copy);
  for (int i = 0; i < copy->n_tensors; i++) {
    const Tensor *tensor = &copy->tensors[i];
    if (tensor->is_virtual || tensor->made_by < 0) continue;
    const gsize row = fake_bytes(format_of(tensor->type), (gsize)tensor->dims[3]);
    const Result result = {copy, i};
    fake_write(tensor->at, elements_of(tensor) / (gsize)tensor->dims[3] * row, row, result_row,
               &result, sizeof result, FALSE);
  }
}

/* --- Costs --- */

/* The fraction of the scores that masks leave: of a causal one, or of given lengths. */
static double seen_share(const Program *program) {
  const Tensor *lengths[2] = {NULL};
  const Tensor *scores = NULL;
  gboolean is_causal = FALSE;
  for (int i = 0; i < program->n_operations; i++) {
    const Operation *operation = &program->operations[i];
    if (operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
        operation->mode == CUDNN_POINTWISE_CMP_GE)
      is_causal = TRUE;
    if (!scores && operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
      scores = &program->tensors[operation->y];
  }
  for (int i = 0; i < program->n_tensors; i++)
    if (program->tensors[i].type == CUDNN_DATA_INT32 && !program->tensors[i].is_virtual &&
        !program->tensors[i].is_value)
      lengths[lengths[0] ? 1 : 0] = &program->tensors[i];
  const gint64 n_rows = scores->dims[2], n_keys = scores->dims[3];
  double pairs = 0;
  for (gint64 b = 0; b < scores->dims[0]; b++) {
    const double rows = lengths[0] ? ((gint32 *)(void *)lengths[0]->at)[b] : (double)n_rows;
    const double keys = lengths[1] ? ((gint32 *)(void *)lengths[1]->at)[b] : (double)n_keys;
    pairs += is_causal ? rows * (keys - rows) + rows * (rows + 1) / 2 : rows * keys;
  }
  return pairs / (double)(scores->dims[0] * n_rows * n_keys);
}

static FakeWork work_of(const Program *program) {
  const double share = seen_share(program);
  double flops = 0, bytes = 0;
  for (int i = 0; i < program->n_operations; i++) {
    const Operation *operation = &program->operations[i];
    if (operation->type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
    const Tensor *a = &program->tensors[operation->x], *c = &program->tensors[operation->y];
    flops += 2 * share * (double)elements_of(c) * (double)a->dims[3];
  }
  for (int i = 0; i < program->n_tensors; i++) {
    const Tensor *tensor = &program->tensors[i];
    if (!tensor->is_virtual && !tensor->is_value && tensor->dims[3] > 1)
      bytes += (double)fake_bytes(format_of(tensor->type), elements_of(tensor));
  }
  FakeWork work = fake_work(FAKE_COMPUTE, flops, ORR_BF16, bytes);
  work.compute_us *= FAKE_GEMM_EFFICIENCY / FAKE_ATTENTION_EFFICIENCY;
  return work;
}

/* --- Plans --- */

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  Descriptor *descriptor = (Descriptor *)handle;
  if (descriptor->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) return CUDNN_STATUS_SUCCESS;
  const Descriptor *engine = child(descriptor, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  descriptor->program = engine->program;
  return engine->refuses ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

/* Two engines; the first refuses, as some do when their plan is made. */
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, int64_t *ret_n,
                                       void *values) {
  static GPtrArray *programs; /* of all graphs, until the process ends */
  const Descriptor *descriptor = (const Descriptor *)handle;
  (void)type, (void)n;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *(gint64 *)values = WORKSPACE;
    *ret_n = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  Descriptor **engines = values;
  Program *program = program_of(child(descriptor, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
  if (!programs) programs = g_ptr_array_new();
  g_ptr_array_add(programs, program);
  for (int i = 0; i < 2; i++) engines[i]->program = program, engines[i]->refuses = i == 0;
  *ret_n = 2;
  return CUDNN_STATUS_SUCCESS;
}

static void place_tensors(Program *program, const Descriptor *pack) {
  const Attribute *pointers = attribute_of(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS),
                  *uids = attribute_of(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  for (int i = 0; i < program->n_tensors; i++) {
    Tensor *tensor = &program->tensors[i];
    for (gsize k = 0; k < uids->bytes / 8; k++)
      if (((const gint64 *)uids->values)[k] == tensor->uid)
        tensor->at = ((char *const *)pointers->values)[k];
    g_assert(tensor->is_virtual || tensor->at);
    if (tensor->is_value)
      tensor->value = tensor->type == CUDNN_DATA_INT32 ? *(gint32 *)(void *)tensor->at
                                                       : *(float *)(void *)tensor->at;
    if (tensor->type == CUDNN_DATA_INT32 && !tensor->is_virtual)
      fake_touch(tensor->at, (gsize)tensor->dims[0] * 4);
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  FakeStream *stream = (FakeStream *)(void *)((Handle *)(void *)handle)->stream;
  Program program = *((Descriptor *)plan)->program;
  place_tensors(&program, (Descriptor *)pack);
  const gboolean captures = fake_stream_is_capturing(stream);
  if (captures && fake_faults()->capture) {
    fake_stream_spoil_capture(stream);
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  const FakeWork work = work_of(&program);
  fake_spend_us(FAKE_LAUNCH_US + 2);
  if (!captures) write_results(&program);
  return fake_post(stream, &work) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
