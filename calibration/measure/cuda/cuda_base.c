/*
 * cuda_base.c - what every file of the CUDA layer stands on: error checks, memory of a kernel, and
 * samples of its results.
 */
#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernel.h"
#include "calibration/measure/numa.h"
#include "calibration/measure/rotation.h"

/* --- Checks --- */

gboolean orr_cuda_ok(cudaError_t code, const char *what, GError **error) {
  if (code == cudaSuccess) return TRUE;
  const gboolean passes = code == cudaErrorMemoryAllocation;
  if (passes) (void)cudaGetLastError(); /* it is not sticky */
  return orr_fault_set(error, passes ? ORR_FAULT_USAGE : ORR_FAULT_RESOURCE, "%s: %s",
                       passes ? "shapes that do not fit into the device's memory" : what,
                       cudaGetErrorString(code));
}

gboolean orr_cuda_launched(int code, const char *what, GError **error) {
  return orr_cuda_ok((cudaError_t)code, what, error);
}

/* --- Memory --- */

void *orr_cuda_alloc(OrrKernel *kernel, gsize bytes, GError **error) {
  void *buffer = NULL;
  if (!orr_cuda_ok(cudaMalloc(&buffer, MAX(bytes, 256)), "cudaMalloc", error)) return NULL;
  g_ptr_array_add(kernel->buffers, buffer);
  return buffer;
}

void *orr_cuda_alloc_sets(OrrKernel *kernel, gsize bytes, gsize *ret_stride, GError **error) {
  *ret_stride = (bytes + 255) / 256 * 256;
  return orr_cuda_alloc(kernel, *ret_stride * kernel->n_sets, error);
}

static gboolean fill(OrrKernel *kernel, void *buffer, OrrFormat format, gsize n, GError **error) {
  return orr_cuda_launched(
      orr_kernel_fill(buffer, format, n, ++kernel->seed, kernel->bench->stream), "fill", error);
}

void *orr_cuda_random_sets(OrrKernel *kernel, OrrFormat format, gsize n, gsize *ret_stride,
                           GError **error) {
  char *buffer = orr_cuda_alloc_sets(kernel, orr_format_bytes(format, n), ret_stride, error);
  for (guint set = 0; buffer && set < kernel->n_sets; set++)
    if (!fill(kernel, buffer + set * *ret_stride, format, n, error)) return NULL;
  return buffer;
}

void *orr_cuda_random(OrrKernel *kernel, OrrFormat format, gsize n, GError **error) {
  void *buffer = orr_cuda_alloc(kernel, orr_format_bytes(format, n), error);
  return buffer && fill(kernel, buffer, format, n, error) ? buffer : NULL;
}

void *orr_cuda_upload(OrrKernel *kernel, const void *data, gsize bytes, GError **error) {
  void *buffer = orr_cuda_alloc(kernel, bytes, error);
  const cudaStream_t stream = kernel->bench->stream;
  return buffer &&
                 orr_cuda_ok(cudaMemcpyAsync(buffer, data, bytes, cudaMemcpyHostToDevice, stream),
                             "upload", error) &&
                 orr_cuda_ok(cudaStreamSynchronize(stream), "upload",
                             error) /* the caller may free @data */
             ? buffer
             : NULL;
}

void orr_cuda_rotate(OrrKernel *kernel, double touched_bytes, double held_bytes) {
  kernel->touched_bytes = touched_bytes;
  kernel->n_sets = orr_rotation_sets(touched_bytes, held_bytes, &kernel->bench->facts);
}

void *orr_cuda_host_alloc(const OrrBench *bench, gsize bytes, GError **error) {
  void *memory = orr_numa_alloc(bytes, bench->numa_node);
  if (memory && cudaHostRegister(memory, bytes, cudaHostRegisterDefault) == cudaSuccess)
    return memory;
  (void)cudaGetLastError(); /* it is not sticky */
  orr_numa_free(memory, bytes);
  return orr_fault_null(error, ORR_FAULT_USAGE, "pinned host memory could not be allocated");
}

void orr_cuda_host_free(void *memory, gsize bytes) {
  if (!memory) return;
  cudaHostUnregister(memory);
  orr_numa_free(memory, bytes);
}

/* --- Samples --- */

gboolean orr_cuda_read(const void *device, OrrFormat format, gsize first, gsize stride, gsize n,
                       double *ret_values, GError **error) {
  const gboolean is_packed = format == ORR_FORMAT_E2M1; /* only contiguous elements */
  g_return_val_if_fail(!is_packed || (stride == 1 && first % 2 == 0), FALSE);
  const gsize size = is_packed ? 1 : orr_format_bytes(format, 1);
  const char *from = (const char *)device + (is_packed ? first / 2 : first * size);
  g_autofree char *host = g_malloc(orr_format_bytes(format, n) + 1);
  const cudaError_t code =
      stride == 1 ? cudaMemcpy(host, from, orr_format_bytes(format, n), cudaMemcpyDeviceToHost)
                  : cudaMemcpy2D(host, size, from, stride * size, size, n, cudaMemcpyDeviceToHost);
  if (!orr_cuda_ok(code, "reading a sample", error)) return FALSE;
  for (gsize i = 0; i < n; i++) ret_values[i] = orr_format_decode(format, host, i);
  return TRUE;
}

gboolean orr_cuda_read_rows(const void *device, OrrFormat format, gsize first, gsize row_stride,
                            gsize n_rows, gsize width, double *ret_values, GError **error) {
  const gsize size = orr_format_bytes(format, 1);
  g_autofree char *host = g_malloc(n_rows * width * size);
  if (!orr_cuda_ok(cudaMemcpy2D(host, width * size, (const char *)device + first * size,
                                row_stride * size, width * size, n_rows, cudaMemcpyDeviceToHost),
                   "reading a sample", error))
    return FALSE;
  for (gsize i = 0; i < n_rows * width; i++) ret_values[i] = orr_format_decode(format, host, i);
  return TRUE;
}

gboolean orr_cuda_run_once(OrrKernel *kernel, GError **error) {
  return kernel->launch(kernel, 0, kernel->bench->stream, error) &&
         orr_cuda_ok(cudaStreamSynchronize(kernel->bench->stream), "first launch", error);
}

void orr_cuda_judge(OrrVerdict *verdict, double found, double reference, double scale) {
  const double off = fabs(found - reference) / scale;
  verdict->n_samples++;
  if (isnan(off) || off > verdict->max_error)
    verdict->max_error = off; /* NaN stays, since no comparison exceeds it */
}
