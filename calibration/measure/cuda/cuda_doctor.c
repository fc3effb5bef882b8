/*
 * cuda_doctor.c - the facts of doctor.h from CUDA's runtime, NVML and the driver's library. Makes
 * no context: a context is a process on the GPU, and takes memory.
 *
 * GPUs are those that CUDA shows (CUDA_VISIBLE_DEVICES). Types are declared here after the
 * libraries' ABI (nvml.h, cuda.h).
 */
#include <unistd.h>

#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/vendor.h"

enum { CLOCK_SM = 1, MOST_LINKS = 18, MOST_PROCESSES = 64, DMA_BUF_SUPPORTED = 124 };

typedef struct nvmlDevice_st *NvmlDevice;

typedef struct { /* nvmlProcessInfo_t, version 2 and 3 */
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
} NvmlProcess;

/* Functions are NULL if the driver has no such call. */
typedef struct {
  int (*init)(void);
  int (*shutdown)(void);
  int (*by_bus)(const char *bus, NvmlDevice *ret_device);
  int (*limit)(NvmlDevice device, unsigned *ret_milliwatts);
  int (*default_limit)(NvmlDevice device, unsigned *ret_milliwatts);
  int (*clock)(NvmlDevice device, int kind, unsigned *ret_mhz);
  int (*default_clock)(NvmlDevice device, int kind, unsigned *ret_mhz);
  int (*mig)(NvmlDevice device, unsigned *ret_is_on, unsigned *ret_will_be_on);
  int (*link)(NvmlDevice device, unsigned link, unsigned *ret_is_on);
  int (*processes)(NvmlDevice device, unsigned *n, NvmlProcess *ret_processes);
} Nvml;

static const OrrCudaSymbol nvml_symbols[] = {
    {"nvmlInit_v2", offsetof(Nvml, init), FALSE},
    {"nvmlShutdown", offsetof(Nvml, shutdown), FALSE},
    {"nvmlDeviceGetHandleByPciBusId_v2", offsetof(Nvml, by_bus), FALSE},
    {"nvmlDeviceGetEnforcedPowerLimit", offsetof(Nvml, limit), TRUE},
    {"nvmlDeviceGetPowerManagementDefaultLimit", offsetof(Nvml, default_limit), TRUE},
    {"nvmlDeviceGetApplicationsClock", offsetof(Nvml, clock), TRUE},
    {"nvmlDeviceGetDefaultApplicationsClock", offsetof(Nvml, default_clock), TRUE},
    {"nvmlDeviceGetMigMode", offsetof(Nvml, mig), TRUE},
    {"nvmlDeviceGetNvLinkState", offsetof(Nvml, link), TRUE},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(Nvml, processes), TRUE},
};

typedef struct {
  int (*init)(unsigned flags);
  int (*device)(int *ret_device, int ordinal);
  int (*attribute)(int *ret_value, int what, int device);
} Driver;

static const OrrCudaSymbol driver_symbols[] = {
    {"cuInit", offsetof(Driver, init), FALSE},
    {"cuDeviceGet", offsetof(Driver, device), FALSE},
    {"cuDeviceGetAttribute", offsetof(Driver, attribute), FALSE},
};

/* @code: of a call that set @number; its value times @unit, or NAN. */
static double known(int code, unsigned number, double unit) {
  return code == 0 ? number * unit : NAN;
}

static void read_links(const Nvml *nvml, NvmlDevice device, OrrDoctorGpu *gpu) {
  gpu->n_links_up = gpu->n_links_down = nvml->link ? 0 : -1;
  for (unsigned link = 0; nvml->link && link < MOST_LINKS; link++) {
    unsigned is_on = 0;
    if (nvml->link(device, link, &is_on) != 0) continue; /* it has fewer links */
    *(is_on ? &gpu->n_links_up : &gpu->n_links_down) += 1;
  }
}

static void read_processes(const Nvml *nvml, NvmlDevice device, OrrDoctorGpu *gpu) {
  NvmlProcess processes[MOST_PROCESSES];
  unsigned n = MOST_PROCESSES;
  if (!nvml->processes || nvml->processes(device, &n, processes) != 0) return;
  gpu->n_others = 0;
  for (unsigned i = 0; i < n; i++) gpu->n_others += processes[i].pid != (unsigned)getpid();
}

static void read_nvml(const Nvml *nvml, NvmlDevice device, OrrDoctorGpu *gpu) {
  unsigned number = 0, pending = 0;
  int code = nvml->limit ? nvml->limit(device, &number) : -1;
  gpu->limit_watts = known(code, number, 1e-3);
  code = nvml->default_limit ? nvml->default_limit(device, &number) : -1;
  gpu->default_limit_watts = known(code, number, 1e-3);
  code = nvml->clock ? nvml->clock(device, CLOCK_SM, &number) : -1;
  gpu->clock_hz = known(code, number, 1e6);
  code = nvml->default_clock ? nvml->default_clock(device, CLOCK_SM, &number) : -1;
  gpu->default_clock_hz = known(code, number, 1e6);
  code = nvml->mig ? nvml->mig(device, &number, &pending) : -1;
  gpu->mig = code == 0 ? (int)number : -1;
  read_links(nvml, device, gpu);
  read_processes(nvml, device, gpu);
}

static OrrDoctorGpu read_gpu(const Nvml *nvml, const char *bus) {
  OrrDoctorGpu gpu = orr_doctor_gpu_new();
  NvmlDevice device = NULL;
  OrrNvml *board = orr_nvml_open(bus);
  const OrrBenchState state = orr_nvml_state(board);
  gpu.watts = state.watts;
  gpu.celsius = state.celsius;
  gpu.throttle = state.throttle;
  gpu.persistence = state.persistence;
  gpu.ecc = state.ecc;
  orr_nvml_free(board);
  if (nvml->init && nvml->by_bus(bus, &device) == 0) read_nvml(nvml, device, &gpu);
  return gpu;
}

/* Whether the driver lets other devices read the GPU's memory through dma-buf; -1: unknown. */
static int has_dma_buf(void) {
  static const char *const files[] = {"libcuda.so.1", NULL};
  Driver driver;
  int device = 0, value = 0;
  if (!orr_cuda_library_open(files, driver_symbols, G_N_ELEMENTS(driver_symbols), &driver, NULL) ||
      driver.init(0) != 0 || driver.device(&device, 0) != 0 ||
      driver.attribute(&value, DMA_BUF_SUPPORTED, device) != 0)
    return -1;
  return value != 0;
}

static gboolean read_gpus(OrrDoctorFacts *facts, int n_gpus, GError **error) {
  static const char *const files[] = {"libnvidia-ml.so.1", NULL};
  Nvml nvml = {0};
  char bus[32] = "";
  facts->has_nvml =
      orr_cuda_library_open(files, nvml_symbols, G_N_ELEMENTS(nvml_symbols), &nvml, NULL) &&
      nvml.init() == 0;
  if (!facts->has_nvml) nvml.init = NULL;
  for (int i = 0; i < n_gpus; i++) {
    if (!orr_cuda_ok(cudaDeviceGetPCIBusId(bus, sizeof bus, i), "cudaDeviceGetPCIBusId", error))
      return FALSE;
    if (!facts->driver) {
      OrrNvml *board = orr_nvml_open(bus);
      facts->driver = orr_nvml_driver(board);
      orr_nvml_free(board);
    }
    ORR_APPEND(facts->gpus, OrrDoctorGpu, read_gpu(&nvml, bus));
  }
  if (facts->has_nvml) nvml.shutdown();
  return TRUE;
}

gboolean orr_cuda_examine(OrrDoctorFacts *facts, GError **error) {
  static const OrrDoctorNames names = ORR_VENDOR_NAMES;
  struct cudaDeviceProp properties;
  int n_gpus = 0;
  facts->names = &names;
  if (!orr_cuda_count_gpus(&n_gpus, error) ||
      !orr_cuda_ok(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties", error) ||
      !orr_cuda_ok(cudaRuntimeGetVersion(&facts->runtime), "cudaRuntimeGetVersion", error) ||
      !orr_cuda_ok(cudaDriverGetVersion(&facts->driver_supports), "cudaDriverGetVersion", error) ||
      !read_gpus(facts, n_gpus, error))
    return FALSE;
  facts->runtime = orr_vendor_release(facts->runtime);
  facts->driver_supports = orr_vendor_release(facts->driver_supports);
  facts->device = g_strdup(properties.name);
  facts->blas = orr_cublas_version();
  facts->dnn = orr_cudnn_version();
  facts->ccl = orr_cuda_nccl_version();
  facts->dma_buf = has_dma_buf();
  orr_doctor_read_system(facts, "/sys");
  return TRUE;
}
