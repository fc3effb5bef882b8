/*
 * fake_runtime.c - CUDA's runtime (cudart), or HIP's behind its names (calibration/measure/hip), as
 * far as calibration/measure/cuda calls it.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "tests/calibration/fake_gpu/fake_gpu.h"

static cudaError_t last_error;

static cudaError_t result(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

static FakeStream *stream_of(cudaStream_t stream) { return (FakeStream *)(void *)stream; }

static FakeEvent *event_of(cudaEvent_t event) { return (FakeEvent *)(void *)event; }

cudaError_t cudaGetLastError(void) {
  const cudaError_t code = last_error;
  last_error = cudaSuccess;
  return code;
}

const char *cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorMemoryAllocation           ? "out of memory"
         : code == cudaErrorNotReady                 ? "device not ready"
         : code == cudaErrorLaunchFailure            ? "unspecified launch failure"
         : code == cudaErrorStreamCaptureInvalidated ? "the capture was invalidated"
         : code == cudaErrorPeerAccessAlreadyEnabled ? "peer access is already enabled"
         : code == cudaErrorNoDevice                 ? "no CUDA-capable device is detected"
         : code == cudaErrorInsufficientDriver
             ? "CUDA driver version is insufficient for CUDA runtime version"
             : "fake error";
}

/* --- Devices --- */

cudaError_t cudaGetDeviceCount(int *count) {
  if (fake_faults()->no_driver) return result(cudaErrorInsufficientDriver);
  *count = fake_n_gpus();
  return result(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  if (device >= fake_n_gpus()) return result(cudaErrorInvalidDevice);
  fake_set_device(device);
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
  const int step = CUDART_VERSION > 1000000 ? 10000000 : 1000; /* HIP counts otherwise */
  *version = fake_faults()->no_driver ? 0 : CUDART_VERSION - step * (int)fake_faults()->old_driver;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  (void)device;
  *properties = (struct cudaDeviceProp){.totalGlobalMem = (size_t)fake_memory_bytes(),
                                        .multiProcessorCount = FAKE_SMS,
                                        .l2CacheSize = (int)FAKE_L2_BYTES,
                                        .major = fake_capability() / 10,
                                        .minor = fake_capability() % 10};
  g_strlcpy(properties->name, "Fake GPU", sizeof properties->name);
#ifdef ORR_HIP
  g_snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "gfx%d:sramecc+",
             fake_capability());
#endif
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device) {
  (void)device;
  *value = what == cudaDevAttrMemoryClockRate        ? (int)(FAKE_MEMORY_HZ / 1e3)
           : what == cudaDevAttrGlobalMemoryBusWidth ? FAKE_BUS_BITS
           : what == cudaDevAttrClockRate            ? (int)(FAKE_SM_HZ / 1e3)
                                                     : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *bus, int length, int device) {
  snprintf(bus, (size_t)length, "0000:%02X:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  static guint64 enabled;
  const guint64 bit = (guint64)1 << peer;
  (void)flags;
  if (enabled & bit) return result(cudaErrorPeerAccessAlreadyEnabled);
  enabled |= bit;
  return cudaSuccess;
}

/* --- Memory --- */

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  *memory = fake_alloc(fake_device(), bytes);
  fake_spend_us(5);
  return result(*memory ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *memory) {
  if (memory) fake_device_wait(fake_device());
  fake_free(memory);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags) {
  (void)flags;
  fake_register_host(memory, bytes);
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory) {
  fake_unregister_host(memory);
  return cudaSuccess;
}

/* Copies from and to pageable memory are done at once, others by a recipe. */
static void copy(void *to, const void *from, size_t bytes) {
  if (fake_is_known(to) && fake_is_known(from)) {
    fake_copy(to, from, bytes);
  } else if (fake_is_known(to)) {
    fake_put(to, from, bytes);
  } else {
    fake_touch(from, bytes);
    memcpy(to, from, bytes);
  }
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  (void)kind;
  fake_spend_us(10);
  copy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind) {
  (void)kind;
  fake_spend_us(10);
  for (size_t row = 0; row < height; row++)
    copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
  return cudaSuccess;
}

static cudaError_t post_copy(void *to, const void *from, size_t bytes, double bytes_per_s,
                             cudaStream_t stream) {
  const FakeWork work = {.kind = FAKE_COPY,
                         .fixed_us = FAKE_COPY_US,
                         .memory_us = (double)bytes / bytes_per_s * 1e6,
                         .watts = 1.5 * FAKE_IDLE_WATTS};
  fake_spend_us(1);
  if (!fake_stream_is_capturing(stream_of(stream))) copy(to, from, bytes);
  return result(fake_post(stream_of(stream), &work) ? cudaSuccess : cudaErrorLaunchFailure);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return post_copy(to, from, bytes,
                   kind == cudaMemcpyDeviceToDevice
                       ? FAKE_MEMORY_BYTES_PER_S * FAKE_MEMORY_EFFICIENCY / 2
                       : FAKE_PCIE_BYTES_PER_S,
                   stream);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  (void)to_device, (void)from_device;
  return post_copy(to, from, bytes, FAKE_LINK_BYTES_PER_S * fake_faults()->link, stream);
}

static void set_granule(gconstpointer context, gsize index, void *at) {
  (void)index;
  memset(at, *(const int *)context, 256);
}

/* Granules of 256 bytes: all allocations are multiples of it. */
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  const FakeWork work = fake_work(FAKE_MEMORY, 0, ORR_FP32, (double)bytes);
  fake_write(memory, bytes, 256, set_granule, &value, sizeof value, FALSE);
  return result(fake_post(stream_of(stream), &work) ? cudaSuccess : cudaErrorLaunchFailure);
}

/* --- Streams and events --- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  (void)flags;
  *stream = (cudaStream_t)(void *)fake_stream_new(fake_device());
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  fake_stream_free(stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return result(fake_stream_is_done(stream_of(stream)) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  fake_stream_wait(stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)flags;
  fake_event_await(event_of(event), stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  (void)flags;
  *event = (cudaEvent_t)(void *)fake_event_new();
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  fake_event_free(event_of(event));
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  fake_spend_us(0.4);
  fake_event_record(event_of(event), stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return result(fake_event_is_reached(event_of(event)) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  fake_event_wait(event_of(event));
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end) {
  double begin_us, end_us;
  if (!fake_event_us(event_of(begin), &begin_us) || !fake_event_us(event_of(end), &end_us))
    return result(cudaErrorNotReady);
  *ms = (float)((end_us - begin_us) / 1e3);
  return cudaSuccess;
}

/* --- Graphs --- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  (void)mode;
  fake_stream_begin_capture(stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  *graph = (cudaGraph_t)(void *)fake_stream_end_capture(stream_of(stream));
  return result(*graph ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  (void)flags;
  *exec = (cudaGraphExec_t)(void *)fake_graph_copy((FakeGraph *)(void *)graph);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  fake_graph_free((FakeGraph *)(void *)graph);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  fake_graph_free((FakeGraph *)(void *)exec);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  fake_spend_us(FAKE_GRAPH_LAUNCH_US);
  fake_graph_launch((FakeGraph *)(void *)exec, stream_of(stream));
  return cudaSuccess;
}
