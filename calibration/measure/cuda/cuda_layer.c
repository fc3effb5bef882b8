/*
 * cuda_layer.c - the device layer of real GPUs, of CUDA or (vendor.h) HIP: opens the device, reads
 * its facts, and prepares kernels by family. One GPU is opened; cuda_nccl.c opens the others that
 * collectives need.
 */
#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernel.h"
#include "calibration/measure/cuda/vendor.h"
#include "calibration/measure/numa.h"
#include "calibration/measure/rotation.h"
#include "sim/base/random.h"

/* By family, in the order of family.c's array. */
static const struct {
  const char *family;
  OrrCudaPrepare prepare;
} preparers[] = {
    {"attention-decode", orr_cuda_prepare_attention_decode},
    {"attention-mixed", orr_cuda_prepare_attention_mixed},
    {"attention-prefill", orr_cuda_prepare_attention_prefill},
    {"collective", orr_cuda_prepare_collective},
    {"device-copy", orr_cuda_prepare_copy},
    {"gemm", orr_cuda_prepare_gemm},
    {"interference", orr_cuda_prepare_interference},
    {"launch", orr_cuda_prepare_launch},
    {"memory", orr_cuda_prepare_memory},
    {"moe-ffn", orr_cuda_prepare_moe},
};

/* --- The device --- */

/* Dense FLOPs per clock and SM, by compute capability: NVIDIA's datasheets over SMs and boost
 * clock (A100 312 TFLOP/s of fp16 = 108 SMs x 1.41 GHz x 2048; H100 989 = 132 x 1.83 x 4096;
 * B200 2250 = 148 x 1.85 x 8192; L40S 362 = 142 x 2.52 x 1024), and AMD's by the number of its gfx
 * and CU (MI250X 383 = 220 x 1.7 x 1024; MI300X 1307 = 304 x 2.1 x 2048; MI355X 2517 = 256 x 2.4 x
 * 4096). They only shape the trend between points, and say which formats there are (vendor.h). */
static const struct {
  int architecture;
  double fp32, tf32, half, fp8, fp4;
} rates[] = {
#ifdef ORR_HIP
    {0x950, 256, 0, 4096, 8192, 0},
    {0x940, 256, 1024, 2048, 0, 0},
    {0x90a, 256, 0, 1024, 0, 0},
    {0, 128, 0, 1024, 0, 0},
#else
    {120, 256, 512, 1024, 2048, 4096}, {100, 256, 4096, 8192, 16384, 32768},
    {90, 256, 2048, 4096, 8192, 0},    {89, 256, 512, 1024, 2048, 0},
    {86, 256, 512, 1024, 0, 0},        {80, 128, 1024, 2048, 0, 0},
    {0, 128, 0, 1024, 0, 0},
#endif
};

static void set_rates(OrrBenchFacts *facts) {
  guint i = 0;
  while (rates[i].architecture > facts->architecture) i++;
  const double hz = facts->sms * facts->sm_clock_limit_hz;
  facts->flops[ORR_FP32] = rates[i].fp32 * hz;
  facts->flops[ORR_TF32] = rates[i].tf32 * hz;
  facts->flops[ORR_FP16] = rates[i].half * hz;
  facts->flops[ORR_BF16] = rates[i].half * hz;
  facts->flops[ORR_FP8] = rates[i].fp8 * hz;
  facts->flops[ORR_FP4] = rates[i].fp4 * hz;
  facts->scales_blocks = rates[i].fp4 > 0;
  facts->adds_fp8 = rates[i].fp8 > 0 && facts->architecture >= 90; /* NCCL, from sm_90 on */
}

static double attribute(enum cudaDeviceAttr what, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, what, device) == cudaSuccess ? value : 0;
}

static char *version_text(int version) {
  const int release = orr_vendor_release(version);
  return g_strdup_printf("%d.%d", release / 1000, release % 1000 / 10);
}

static gboolean set_facts(OrrBench *bench, GError **error) {
  struct cudaDeviceProp properties;
  OrrBenchFacts *facts = &bench->facts;
  int runtime = 0, driver = 0, n_gpus = 0;
  if (!orr_cuda_ok(cudaGetDeviceProperties(&properties, bench->device), "cudaGetDeviceProperties",
                   error) ||
      !orr_cuda_ok(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion", error) ||
      !orr_cuda_ok(cudaDriverGetVersion(&driver), "cudaDriverGetVersion", error) ||
      !orr_cuda_ok(cudaGetDeviceCount(&n_gpus), "cudaGetDeviceCount", error))
    return FALSE;
  facts->device = g_strdup(properties.name);
  facts->driver = orr_nvml_driver(bench->nvml);
  if (!facts->driver) facts->driver = version_text(driver);
  facts->runtime = version_text(runtime);
  facts->blas = orr_cublas_version();
  facts->dnn = orr_cudnn_version();
  facts->ccl = orr_cuda_nccl_version();
  facts->sms = properties.multiProcessorCount;
  facts->architecture = orr_vendor_architecture(&properties);
  facts->n_gpus = bench->rendezvous.n_ranks > 1 ? 1 : n_gpus;
  facts->n_ranks = bench->rendezvous.n_ranks > 1 ? bench->rendezvous.n_ranks : n_gpus;
  facts->rank = bench->rendezvous.rank;
  facts->memory_bytes = (double)properties.totalGlobalMem;
  facts->l2_bytes = properties.l2CacheSize;
  facts->memory_clock_limit_hz = attribute(cudaDevAttrMemoryClockRate, bench->device) * 1e3;
  if (facts->memory_clock_limit_hz <= 0)
    facts->memory_clock_limit_hz = orr_nvml_max_memory_hz(bench->nvml);
  facts->memory_bytes_per_s = 2 * facts->memory_clock_limit_hz *
                              attribute(cudaDevAttrGlobalMemoryBusWidth, bench->device) / 8;
  if (!(facts->memory_bytes_per_s > 0))
    facts->memory_bytes_per_s = 1e12; /* unknown to the driver: enough for a trend */
  facts->sm_clock_limit_hz = attribute(cudaDevAttrClockRate, bench->device) * 1e3;
  if (facts->sm_clock_limit_hz <= 0) facts->sm_clock_limit_hz = orr_nvml_max_sm_hz(bench->nvml);
  facts->power_limit_watts = orr_nvml_power_limit(bench->nvml);
  set_rates(facts);
  return TRUE;
}

/* The device of this process: the requested one or, under a launcher, its own. */
static int pick_device(const OrrBench *bench, int ordinal, int n_gpus) {
  if (bench->rendezvous.n_ranks == 1) return ordinal;
  const gint64 local =
      bench->rendezvous.local_rank >= 0 ? bench->rendezvous.local_rank : bench->rendezvous.rank;
  return (int)(local % n_gpus);
}

gboolean orr_cuda_count_gpus(int *ret_n, GError **error) {
  const cudaError_t code = cudaGetDeviceCount(ret_n);
  int driver = 0;
  if (code != cudaSuccess && cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return orr_fault_set(error, ORR_FAULT_RESOURCE,
                         "there is no " ORR_VENDOR_MAKER " GPU that can be used here: "
                         "no " ORR_VENDOR_MAKER " driver is loaded (" ORR_VENDOR_TOOL
                         " says more). --device fake shows what calibrate does");
  if (code == cudaErrorInsufficientDriver || code == cudaErrorNoDevice ||
      code == cudaErrorStubLibrary || (code == cudaSuccess && *ret_n == 0)) {
    return orr_fault_set(error, ORR_FAULT_RESOURCE,
                         "there is no " ORR_VENDOR_MAKER
                         " GPU that can be used here: %s. --device fake shows what calibrate does",
                         code == cudaSuccess ? "no device" : cudaGetErrorString(code));
  }
  return orr_cuda_ok(code, "cudaGetDeviceCount", error);
}

static gboolean find_device(OrrBench *bench, int ordinal, GError **error) {
  int n_gpus = 0;
  if (!orr_cuda_count_gpus(&n_gpus, error)) return FALSE;
  bench->device = pick_device(bench, ordinal, n_gpus);
  if (bench->device < n_gpus) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "there is no GPU %d: this machine has %d",
                       bench->device, n_gpus);
}

static gboolean start(OrrBench *bench, int ordinal, GError **error) {
  char bus[32] = "";
  if (!orr_rendezvous_init(&bench->rendezvous, error) || !find_device(bench, ordinal, error) ||
      !orr_cuda_ok(cudaSetDevice(bench->device), "cudaSetDevice", error) ||
      !orr_cuda_ok(cudaDeviceGetPCIBusId(bus, sizeof bus, bench->device), "cudaDeviceGetPCIBusId",
                   error) ||
      !orr_cuda_ok(cudaStreamCreateWithFlags(&bench->stream, cudaStreamNonBlocking),
                   "cudaStreamCreate", error) ||
      !orr_cuda_ok(cudaStreamCreateWithFlags(&bench->beside, cudaStreamNonBlocking),
                   "cudaStreamCreate", error))
    return FALSE;
  bench->nvml = orr_nvml_open(bus);
  bench->numa_node = orr_numa_node("/sys", bus);
  return set_facts(bench, error);
}

static void cuda_close(OrrBench *bench) {
  if (!bench) return;
  orr_cuda_nccl_free(bench->nccl);
  orr_cudnn_free(bench->cudnn);
  orr_cublas_free(bench->cublas);
  orr_nvml_free(bench->nvml);
  if (bench->stream) cudaStreamDestroy(bench->stream);
  if (bench->beside) cudaStreamDestroy(bench->beside);
  orr_rendezvous_clear(&bench->rendezvous);
  g_free(bench->no_nccl);
  orr_bench_facts_clear(&bench->facts);
  g_free(bench);
}

static OrrBench *cuda_open(int ordinal, GError **error) {
  OrrBench *bench = g_new0(OrrBench, 1);
  bench->opened_us = g_get_monotonic_time();
  g_autoptr(GError) reason = NULL;
  if (start(bench, ordinal, &reason)) return bench;
  orr_rendezvous_fail(&bench->rendezvous, reason->message); /* the other ranks wait for this one */
  g_propagate_error(error, g_steal_pointer(&reason));
  cuda_close(bench);
  return NULL;
}

static const OrrBenchFacts *cuda_facts(const OrrBench *bench) { return &bench->facts; }

static OrrBenchState cuda_state(OrrBench *bench) { return orr_nvml_state(bench->nvml); }

static double cuda_clock(OrrBench *bench) {
  return (g_get_monotonic_time() - bench->opened_us) / 1e6;
}

/* --- The layer's functions --- */

static void cuda_release(OrrKernel *kernel) {
  if (kernel->clear) kernel->clear(kernel->state);
  g_ptr_array_unref(kernel->buffers);
  g_free(kernel);
}

static void buffer_free(gpointer buffer) { cudaFree(buffer); }

static OrrCudaPrepare preparer_of(const char *family) {
  for (guint i = 0; i < G_N_ELEMENTS(preparers); i++)
    if (strcmp(preparers[i].family, family) == 0) return preparers[i].prepare;
  return NULL;
}

static OrrKernel *cuda_prepare(OrrBench *bench, const OrrShape *shape, GError **error) {
  OrrCudaPrepare prepare = preparer_of(shape->family->entry.name);
  if (!prepare)
    return orr_fault_null(error, ORR_FAULT_USAGE,
                          "%s: the layer of real GPUs does not implement it",
                          shape->family->entry.name);
  g_autofree char *text = orr_shape_text(shape);
  OrrKernel *kernel = g_new0(OrrKernel, 1);
  *kernel = (OrrKernel){.bench = bench,
                        .shape = *shape,
                        .n_sets = 1,
                        .seed = orr_random_hash3(0, 0, g_str_hash(text))};
  kernel->buffers = g_ptr_array_new_with_free_func(buffer_free);
  if (prepare(kernel, error) && orr_cuda_ok(cudaStreamSynchronize(bench->stream), "prepare", error))
    return kernel;
  cuda_release(kernel);
  return NULL;
}

static gboolean cuda_verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  *ret_verdict = (OrrVerdict){0};
  return !kernel->verify || kernel->verify(kernel, ret_verdict, error);
}

static const OrrDeviceLayer cuda_layer = {
    .name = "gpu",
    .examine = orr_cuda_examine,
    .open = cuda_open,
    .close = cuda_close,
    .facts = cuda_facts,
    .state = cuda_state,
    .clock_s = cuda_clock,
    .prepare = cuda_prepare,
    .time = orr_cuda_time,
    .verify = cuda_verify,
    .release = cuda_release,
    .agree = orr_cuda_nccl_agree,
    .settle = orr_cuda_nccl_settle,
    .fail = orr_cuda_nccl_fail,
};

const OrrDeviceLayer *orr_device_layer_find(GError **error) { return &cuda_layer; }
