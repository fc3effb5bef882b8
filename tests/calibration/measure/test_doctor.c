/*
 * test_doctor.c - the rules of `orrery calibrate doctor` on facts made by hand: GPUs that differ,
 * facts that the driver does not report, GPUDirect RDMA by what sysfs holds.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "calibration/measure/device_layer.h"

static char *no_variables[] = {NULL};

static const OrrDoctorFinding *find(const GPtrArray *findings, const char *topic) {
  for (guint i = 0; i < findings->len; i++) {
    const OrrDoctorFinding *finding = findings->pdata[i];
    if (strcmp(finding->topic, topic) == 0) return finding;
  }
  return NULL;
}

static OrrDoctorFacts *sound_node(void) {
  OrrDoctorFacts *facts = orr_doctor_facts_new();
  g_assert_true(orr_fake_layer.examine(facts, NULL));
  g_assert_cmpuint(facts->gpus->len, ==, 8);
  return facts;
}

static OrrDoctorGpu *gpu_at(OrrDoctorFacts *facts, guint i) {
  return &g_array_index(facts->gpus, OrrDoctorGpu, i);
}

/* Asserts that @facts have a finding of that word and text for @topic. */
static void assert_finding(const OrrDoctorFacts *facts, const char *topic, OrrDoctorWord word,
                           const char *text) {
  g_autoptr(GPtrArray) findings = orr_doctor_findings(facts, no_variables);
  const OrrDoctorFinding *finding = find(findings, topic);
  g_assert_nonnull(finding);
  g_assert_cmpint(finding->word, ==, word);
  g_assert_nonnull(strstr(finding->text, text));
}

static void test_sound(void) {
  g_autoptr(OrrDoctorFacts) facts = sound_node();
  g_autoptr(GPtrArray) findings = orr_doctor_findings(facts, no_variables);
  for (guint i = 0; i < findings->len; i++)
    g_assert_cmpint(((const OrrDoctorFinding *)findings->pdata[i])->word, ==, ORR_DOCTOR_OK);
  g_assert_cmpuint(findings->len, >=,
                   14); /* driver, 9 of GPUs, GPUDirect, 3 libraries, variables */
}

/* GPUs 2 and 5 lack a link: they are named, and the others have a finding of their own. */
static void test_names_gpus(void) {
  g_autoptr(OrrDoctorFacts) facts = sound_node();
  gpu_at(facts, 2)->n_links_up = gpu_at(facts, 5)->n_links_up = 17;
  gpu_at(facts, 2)->n_links_down = gpu_at(facts, 5)->n_links_down = 1;
  g_autoptr(GPtrArray) findings = orr_doctor_findings(facts, no_variables);
  guint n = 0;
  for (guint i = 0; i < findings->len; i++) {
    const OrrDoctorFinding *finding = findings->pdata[i];
    if (strcmp(finding->topic, "NVLink") != 0) continue;
    n++;
    g_assert_true(g_str_has_prefix(finding->text, finding->word == ORR_DOCTOR_PROBLEM
                                                      ? "GPUs 2, 5: 17 of 18 up"
                                                      : "GPUs 0, 1, 3, 4, 6, 7: 18 of 18 up"));
  }
  g_assert_cmpuint(n, ==, 2);
}

/* What the driver does not report is unknown, never good. */
static void test_unknown(void) {
  static const char *const topics[] = {"processes", "clocks",      "throttling", "heat", "MIG",
                                       "ECC",       "persistence", "NVLink",     NULL};
  g_autoptr(OrrDoctorFacts) facts = orr_doctor_facts_new();
  const OrrDoctorGpu gpu = orr_doctor_gpu_new();
  g_array_append_val(facts->gpus, gpu);
  for (const char *const *topic = topics; *topic; topic++)
    assert_finding(facts, *topic, ORR_DOCTOR_UNKNOWN, "the driver does not say");
  assert_finding(facts, "power limit", ORR_DOCTOR_UNKNOWN, "");
  assert_finding(facts, "NVML", ORR_DOCTOR_PROBLEM, "no clock");
  assert_finding(facts, "cuBLASLt", ORR_DOCTOR_NOTE, "not found");
  assert_finding(facts, "NCCL", ORR_DOCTOR_OK, "one GPU needs none");
}

/* Bit 0x40: heat. Bit 1: idle, which is sound before a measurement. 0x100: display clocks. */
static void test_throttle(void) {
  g_autoptr(OrrDoctorFacts) facts = sound_node();
  gpu_at(facts, 0)->throttle = 0x41;
  assert_finding(facts, "throttling", ORR_DOCTOR_PROBLEM,
                 "GPU 0: clocks are lowered without our "
                 "load: hardware thermal slowdown");
  gpu_at(facts, 0)->throttle = 0x101;
  assert_finding(facts, "throttling", ORR_DOCTOR_NOTE, "display clocks");
}

static void test_versions(void) {
  g_autoptr(OrrDoctorFacts) facts = sound_node();
  facts->driver_supports = 12020;
  facts->runtime = 12090;
  assert_finding(facts, "driver", ORR_DOCTOR_NOTE, "for CUDA 12.2; this program uses CUDA 12.9");
  facts->runtime = 13000;
  assert_finding(facts, "driver", ORR_DOCTOR_PROBLEM, "newer driver");
  g_free(facts->ccl);
  facts->ccl = g_strdup("2.17.1");
  assert_finding(facts, "NCCL", ORR_DOCTOR_NOTE, "need 2.18 or newer");
}

/* A variable counts at any value, or at one: NCCL_DEBUG=WARN costs nothing. */
static void test_environment(void) {
  char *loud[] = {"NCCL_DEBUG=TRACE", "NCCL_ALGO=Ring", NULL}, *quiet[] = {"NCCL_DEBUG=WARN", NULL};
  g_autoptr(OrrDoctorFacts) facts = sound_node();
  g_autoptr(GPtrArray) found = orr_doctor_findings(facts, loud),
                       none = orr_doctor_findings(facts, quiet);
  g_assert_cmpint(find(found, "environment")->word, ==, ORR_DOCTOR_PROBLEM);
  g_assert_cmpuint(found->len, ==, none->len + 1);
  g_assert_cmpint(find(none, "environment")->word, ==, ORR_DOCTOR_OK);
}

static void make(const char *root, const char *folder) {
  g_autofree char *path = g_build_filename(root, folder, NULL);
  g_assert_cmpint(g_mkdir_with_parents(path, 0700), ==, 0);
}

/* Without adapters there is nothing to ask; with two, one of the two ways must be there. */
static void test_gpu_direct(void) {
  static const char *const folders[] = {"class/infiniband/mlx5_0", "class/infiniband/mlx5_1",
                                        "class/infiniband",        "class",
                                        "module/nvidia_peermem",   "module"};
  g_autoptr(OrrDoctorFacts) facts = sound_node();
  g_autofree char *root = g_dir_make_tmp("orrery-doctor-XXXXXX", NULL);
  orr_doctor_read_system(facts, root);
  facts->dma_buf = 0;
  g_assert_cmpint(facts->n_fabric_adapters, ==, 0);
  assert_finding(facts, "GPUDirect", ORR_DOCTOR_OK, "no InfiniBand");
  make(root, folders[0]);
  make(root, folders[1]);
  orr_doctor_read_system(facts, root);
  assert_finding(facts, "GPUDirect", ORR_DOCTOR_PROBLEM, "neither nvidia_peermem nor dma-buf");
  facts->dma_buf = -1;
  assert_finding(facts, "GPUDirect", ORR_DOCTOR_UNKNOWN, "does not say");
  facts->dma_buf = 1;
  assert_finding(facts, "GPUDirect", ORR_DOCTOR_OK, "dma-buf, 2 adapters");
  make(root, folders[4]);
  orr_doctor_read_system(facts, root);
  assert_finding(facts, "GPUDirect", ORR_DOCTOR_OK, "nvidia_peermem, 2 adapters");
  for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
    g_autofree char *path = g_build_filename(root, folders[i], NULL);
    g_rmdir(path);
  }
  g_assert_cmpint(g_rmdir(root), ==, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/doctor/sound", test_sound);
  g_test_add_func("/doctor/names-gpus", test_names_gpus);
  g_test_add_func("/doctor/unknown", test_unknown);
  g_test_add_func("/doctor/throttle", test_throttle);
  g_test_add_func("/doctor/versions", test_versions);
  g_test_add_func("/doctor/environment", test_environment);
  g_test_add_func("/doctor/gpu-direct", test_gpu_direct);
  return g_test_run();
}
