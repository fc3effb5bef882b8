/*
 * doctor.c - the rules of doctor.h. A rule of GPUs judges one GPU and appends its reason; a GPU
 * that differs from the others is named.
 */
#include "calibration/measure/doctor.h"

#include "calibration/measure/measure_visit.h"

enum { SPLIT_MAJOR = 2, SPLIT_MINOR = 18, HOT_CELSIUS = 70 };

OrrDoctorGpu orr_doctor_gpu_new(void) {
  return (OrrDoctorGpu){.watts = NAN,
                        .celsius = NAN,
                        .clock_hz = NAN,
                        .default_clock_hz = NAN,
                        .limit_watts = NAN,
                        .default_limit_watts = NAN,
                        .throttle = -1,
                        .n_others = -1,
                        .n_links_up = -1,
                        .n_links_down = -1,
                        .persistence = -1,
                        .ecc = -1,
                        .mig = -1};
}

const OrrDoctorNames orr_doctor_names_nvidia = {"CUDA", "cuBLASLt", "cuDNN", "NCCL", TRUE};

OrrDoctorFacts *orr_doctor_facts_new(void) {
  OrrDoctorFacts *facts = g_new0(OrrDoctorFacts, 1);
  facts->names = &orr_doctor_names_nvidia;
  facts->gpus = g_array_new(FALSE, FALSE, sizeof(OrrDoctorGpu));
  facts->n_fabric_adapters = -1;
  facts->peer_memory = facts->dma_buf = -1;
  return facts;
}

void orr_doctor_facts_free(OrrDoctorFacts *facts) {
  if (!facts) return;
  ORR_FREE(facts->device, facts->driver, facts->blas, facts->dnn, facts->ccl);
  g_array_unref(facts->gpus);
  g_free(facts);
}

static gint64 count_files(const char *folder) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  gint64 n = 0;
  while (dir && g_dir_read_name(dir)) n++;
  return n;
}

void orr_doctor_read_system(OrrDoctorFacts *facts, const char *sysfs) {
  g_autofree char *adapters = g_build_filename(sysfs, "class", "infiniband", NULL);
  g_autofree char *module = g_build_filename(sysfs, "module", "nvidia_peermem", NULL);
  facts->n_fabric_adapters = count_files(adapters);
  facts->peer_memory = g_file_test(module, G_FILE_TEST_IS_DIR);
}

/* --- Findings --- */

static void finding_free(gpointer data) {
  g_free(((OrrDoctorFinding *)data)->text);
  g_free(data);
}

static void G_GNUC_PRINTF(4, 5)
    add(GPtrArray *findings, OrrDoctorWord word, const char *topic, const char *format, ...) {
  OrrDoctorFinding *finding = g_new(OrrDoctorFinding, 1);
  va_list args;
  va_start(args, format);
  *finding = (OrrDoctorFinding){word, topic, g_strdup_vprintf(format, args)};
  va_end(args);
  g_ptr_array_add(findings, finding);
}

/* --- Rules of one GPU --- */

static OrrDoctorWord judge_clocks(const OrrDoctorGpu *gpu, GString *text) {
  if (isnan(gpu->clock_hz) || isnan(gpu->default_clock_hz)) return ORR_DOCTOR_UNKNOWN;
  g_string_append_printf(text, "application clock %.0f MHz", gpu->clock_hz / 1e6);
  if (gpu->clock_hz >= gpu->default_clock_hz) return ORR_DOCTOR_OK;
  g_string_append_printf(text, ", below its default of %.0f MHz: nvidia-smi -rac and -rgc",
                         gpu->default_clock_hz / 1e6);
  return ORR_DOCTOR_PROBLEM;
}

static OrrDoctorWord judge_limit(const OrrDoctorGpu *gpu, GString *text) {
  if (isnan(gpu->limit_watts)) return ORR_DOCTOR_UNKNOWN;
  g_string_append_printf(text, "power limit %.0f W", gpu->limit_watts);
  if (isnan(gpu->default_limit_watts) || gpu->limit_watts >= gpu->default_limit_watts - 0.5)
    return ORR_DOCTOR_OK;
  g_string_append_printf(text,
                         ", the board's default is %.0f W: sustained times are of the lower limit "
                         "(nvidia-smi -pl)",
                         gpu->default_limit_watts);
  return ORR_DOCTOR_NOTE;
}

static OrrDoctorWord judge_throttle(const OrrDoctorGpu *gpu, GString *text) {
  const gint64 idle = 1, lowered = 0x4 | 0x8 | 0x10 | 0x20 | 0x40 | 0x80;
  g_autofree char *words = orr_measure_visit_throttle_words(gpu->throttle & ~idle);
  if (gpu->throttle < 0) return ORR_DOCTOR_UNKNOWN;
  if (gpu->throttle & lowered) {
    g_string_append_printf(text, "clocks are lowered without our load: %s", words);
    return ORR_DOCTOR_PROBLEM;
  }
  g_string_append_printf(text, "nothing lowers the clocks");
  if (!(gpu->throttle & ~idle)) return ORR_DOCTOR_OK;
  g_string_append_printf(text, " but %s", words);
  return ORR_DOCTOR_NOTE;
}

static OrrDoctorWord judge_heat(const OrrDoctorGpu *gpu, GString *text) {
  if (isnan(gpu->celsius)) return ORR_DOCTOR_UNKNOWN;
  if (gpu->celsius < HOT_CELSIUS) {
    g_string_append_printf(text, "below %d C", HOT_CELSIUS);
    return ORR_DOCTOR_OK;
  }
  g_string_append_printf(text, "%.0f C before any load: let it cool, or look at the cooling",
                         gpu->celsius);
  return ORR_DOCTOR_PROBLEM;
}

static OrrDoctorWord judge_ecc(const OrrDoctorGpu *gpu, GString *text) {
  if (gpu->ecc < 0) return ORR_DOCTOR_UNKNOWN;
  g_string_append(text, gpu->ecc ? "on" : "off: data centres run HBM with ECC (nvidia-smi -e 1)");
  return gpu->ecc ? ORR_DOCTOR_OK : ORR_DOCTOR_NOTE;
}

static OrrDoctorWord judge_persistence(const OrrDoctorGpu *gpu, GString *text) {
  if (gpu->persistence < 0) return ORR_DOCTOR_UNKNOWN;
  g_string_append(text, gpu->persistence ? "on"
                                         : "off: the driver is loaded anew for each program "
                                           "(nvidia-smi -pm 1)");
  return gpu->persistence ? ORR_DOCTOR_OK : ORR_DOCTOR_NOTE;
}

static OrrDoctorWord judge_mig(const OrrDoctorGpu *gpu, GString *text) {
  if (gpu->mig < 0) return ORR_DOCTOR_UNKNOWN;
  g_string_append(text, gpu->mig ? "on: a slice has fewer SMs and less bandwidth than the device "
                                   "of a profile (nvidia-smi -mig 0)"
                                 : "off");
  return gpu->mig ? ORR_DOCTOR_PROBLEM : ORR_DOCTOR_OK;
}

static OrrDoctorWord judge_links(const OrrDoctorGpu *gpu, GString *text) {
  const gint64 up = gpu->n_links_up, down = gpu->n_links_down;
  if (up < 0 || down < 0) return ORR_DOCTOR_UNKNOWN;
  if (up + down == 0) g_string_append(text, "none: collectives use PCIe");
  if (up + down == 0) return ORR_DOCTOR_OK;
  g_string_append_printf(text, "%ld of %ld up", up, up + down);
  if (down == 0) return ORR_DOCTOR_OK;
  g_string_append(text, ": collectives are slower than on a sound node");
  return ORR_DOCTOR_PROBLEM;
}

static OrrDoctorWord judge_processes(const OrrDoctorGpu *gpu, GString *text) {
  if (gpu->n_others < 0) return ORR_DOCTOR_UNKNOWN;
  if (gpu->n_others == 0) g_string_append(text, "none");
  if (gpu->n_others == 0) return ORR_DOCTOR_OK;
  g_string_append_printf(text,
                         "%ld on the GPU: end them, they take memory bandwidth, "
                         "SMs and power (nvidia-smi --query-compute-apps=pid,used_memory)",
                         gpu->n_others);
  return ORR_DOCTOR_PROBLEM;
}

typedef OrrDoctorWord (*GpuRule)(const OrrDoctorGpu *gpu, GString *text);

static const struct {
  const char *topic;
  GpuRule judge;
} gpu_rules[] = {
    {"processes", judge_processes},
    {"clocks", judge_clocks},
    {"throttling", judge_throttle},
    {"heat", judge_heat},
    {"power limit", judge_limit},
    {"MIG", judge_mig},
    {"ECC", judge_ecc},
    {"persistence", judge_persistence},
    {"NVLink", judge_links},
};

/* GPUs with the same finding, as "GPU 3" or "GPUs 0, 2"; nothing if all have it. */
static char *names_of(const GArray *numbers, guint n_gpus) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; numbers->len < n_gpus && i < numbers->len; i++)
    g_string_append_printf(text, "%s%u",
                           i                  ? ", "
                           : numbers->len > 1 ? "GPUs "
                                              : "GPU ",
                           g_array_index(numbers, guint, i));
  if (text->len) g_string_append(text, ": ");
  return g_string_free(text, FALSE);
}

static void judge_gpus(const OrrDoctorFacts *facts, const char *topic, GpuRule judge,
                       GPtrArray *findings) {
  const guint n = facts->gpus->len;
  g_autofree gboolean *is_done = g_new0(gboolean, n + 1);
  for (guint i = 0; i < n; i++) {
    if (is_done[i]) continue;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(guint));
    const OrrDoctorWord word = judge(&g_array_index(facts->gpus, OrrDoctorGpu, i), text);
    for (guint j = i; j < n; j++) {
      g_autoptr(GString) other = g_string_new(NULL);
      if (judge(&g_array_index(facts->gpus, OrrDoctorGpu, j), other) != word ||
          strcmp(other->str, text->str) != 0)
        continue;
      is_done[j] = TRUE;
      g_array_append_val(numbers, j);
    }
    g_autofree char *names = names_of(numbers, n);
    add(findings, word, topic, "%s%s", names,
        word == ORR_DOCTOR_UNKNOWN ? "the driver does not say" : text->str);
  }
}

/* --- Rules of the machine --- */

static void judge_driver(const OrrDoctorFacts *facts, GPtrArray *findings) {
  const int driver = facts->driver_supports, used = facts->runtime;
  const OrrDoctorWord word = driver >= used                ? ORR_DOCTOR_OK
                             : driver / 1000 < used / 1000 ? ORR_DOCTOR_PROBLEM
                                                           : ORR_DOCTOR_NOTE;
  add(findings, word, "driver", "%s, for %s %d.%d; this program uses %s %d.%d%s",
      facts->driver && *facts->driver ? facts->driver : "version unknown", facts->names->runtime,
      driver / 1000, driver % 1000 / 10, facts->names->runtime, used / 1000, used % 1000 / 10,
      word == ORR_DOCTOR_PROBLEM ? ": its kernels will not start; install a newer driver"
      : word == ORR_DOCTOR_NOTE  ? ": minor versions are compatible, but PTX is not"
                                 : "");
  if (facts->names->has_nvml && !facts->has_nvml)
    add(findings, ORR_DOCTOR_PROBLEM, "NVML",
        "libnvidia-ml.so.1 does not start: rows will have no clock, no power and no reason for "
        "slow clocks");
}

/* GPUDirect RDMA matters where NCCL crosses nodes. */
static void judge_fabric(const OrrDoctorFacts *facts, GPtrArray *findings) {
  const char *how = facts->peer_memory == 1 ? "nvidia_peermem"
                    : facts->dma_buf == 1   ? "dma-buf"
                                            : NULL;
  if (facts->n_fabric_adapters <= 0)
    add(findings, ORR_DOCTOR_OK, "GPUDirect",
        "no InfiniBand or RoCE adapter: collectives between nodes would use sockets");
  else if (how)
    add(findings, ORR_DOCTOR_OK, "GPUDirect", "%s, %ld adapters", how, facts->n_fabric_adapters);
  else if (facts->dma_buf < 0)
    add(findings, ORR_DOCTOR_UNKNOWN, "GPUDirect",
        "nvidia_peermem is not loaded, and the driver does not say whether it has dma-buf");
  else
    add(findings, ORR_DOCTOR_PROBLEM, "GPUDirect",
        "neither nvidia_peermem nor dma-buf: NCCL copies through the host's memory, so collectives "
        "between nodes are slower than the fabric (modprobe nvidia_peermem)");
}

static void judge_library(const char *topic, const char *version, const char *without,
                          GPtrArray *findings) {
  const gboolean has = version && *version;
  add(findings, has ? ORR_DOCTOR_OK : ORR_DOCTOR_NOTE, topic, "%s%s",
      has ? version : "not found: ", has ? "" : without);
}

static void judge_nccl(const OrrDoctorFacts *facts, GPtrArray *findings) {
  int major = 0, minor = 0;
  if (facts->gpus->len < 2 && !(facts->ccl && *facts->ccl)) {
    add(findings, ORR_DOCTOR_OK, facts->names->ccl, "not found, and one GPU needs none");
    return;
  }
  if (facts->ccl && sscanf(facts->ccl, "%d.%d", &major, &minor) == 2 &&
      (major < SPLIT_MAJOR || (major == SPLIT_MAJOR && minor < SPLIT_MINOR)))
    add(findings, ORR_DOCTOR_NOTE, facts->names->ccl,
        "%s: collectives of some of a job's ranks need %d.%d or newer", facts->ccl, SPLIT_MAJOR,
        SPLIT_MINOR);
  else
    judge_library(facts->names->ccl, facts->ccl, "collectives are left out", findings);
}

/* Variables that change times. */
static const struct {
  const char *name, *value; /* value: only this one; NULL: any */
  const char *why;
} variables[] = {
    {"CUDA_LAUNCH_BLOCKING", "1", "each launch waits for its kernel"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", "1", "copies and kernels do not overlap"},
    {"NVIDIA_TF32_OVERRIDE", NULL, "products of fp32 and tf32 use another format"},
    {"NCCL_ALGO", NULL, "NCCL's choice of algorithm is fixed"},
    {"NCCL_PROTO", NULL, "NCCL's choice of protocol is fixed"},
    {"NCCL_P2P_DISABLE", "1", "NCCL does not use NVLink"},
    {"NCCL_IB_DISABLE", "1", "NCCL does not use InfiniBand or RoCE"},
    {"NCCL_NET_GDR_LEVEL", NULL, "GPUDirect RDMA is limited"},
    {"NCCL_DEBUG", "TRACE", "NCCL writes a line for each call"},
};

static void judge_environment(char **environment, GPtrArray *findings) {
  guint n = 0;
  for (guint i = 0; i < G_N_ELEMENTS(variables); i++) {
    const char *value = g_environ_getenv(environment, variables[i].name);
    if (!value || (variables[i].value && strcmp(value, variables[i].value) != 0)) continue;
    add(findings, ORR_DOCTOR_PROBLEM, "environment", "%s=%s: %s", variables[i].name, value,
        variables[i].why);
    n++;
  }
  if (n == 0) add(findings, ORR_DOCTOR_OK, "environment", "no variable that changes times");
}

GPtrArray *orr_doctor_findings(const OrrDoctorFacts *facts, char **environment) {
  GPtrArray *findings = g_ptr_array_new_with_free_func(finding_free);
  judge_driver(facts, findings);
  if (!facts->names->has_nvml)
    add(findings, ORR_DOCTOR_UNKNOWN, "boards",
        "this build does not read the management library of these GPUs: look at processes, clocks, "
        "heat, power limits and links with its tool (rocm-smi)");
  for (guint i = 0; facts->names->has_nvml && i < G_N_ELEMENTS(gpu_rules); i++)
    judge_gpus(facts, gpu_rules[i].topic, gpu_rules[i].judge, findings);
  judge_fabric(facts, findings);
  judge_library(facts->names->blas, facts->blas, "products and experts are left out", findings);
  judge_library(facts->names->dnn, facts->dnn, "attention is left out", findings);
  judge_nccl(facts, findings);
  judge_environment(environment, findings);
  return findings;
}
