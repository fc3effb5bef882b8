/*
 * test_storage.c - checkpoints and data on a file system: closed forms, folded equals full, which
 * transfers contend, and which hide behind compute.
 *
 * Each simulation runs in a child process, because SimGrid allows one engine per process.
 */
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "tests/engine/forked.h"
#include "tests/workloads/scenario_fixture.h"

typedef struct {
  gboolean fine;
  char error[400];
  double iteration_s, storage_s; /* storage_s: time that compute waited in a step */
  double power_w, bubble_s;
  double fractions; /* of all time rows */
  OrrStorageRow rows[4];
  guint n, lanes;
} Answer;

static void simulate_here(const char *text, Answer *answer) {
  *answer = (Answer){0};
  g_autoptr(OrrOutcome) outcome = outcome_of(text, answer->error, sizeof answer->error);
  if (!(answer->fine = outcome != NULL)) return;
  answer->iteration_s = outcome->result.training.iteration_time_s;
  answer->storage_s = outcome->time_by_kind[ORR_TIME_STORAGE];
  answer->power_w = outcome->result.training.gpu_power_mean_w;
  answer->bubble_s = outcome->time_by_kind[ORR_TIME_BUBBLE];
  ORR_EACH(const OrrTimeRow, row, outcome->times) answer->fractions += row->fraction;
  answer->lanes = outcome->lanes->len;
  answer->n = outcome->storage->len;
  for (guint i = 0; i < outcome->storage->len; i++)
    answer->rows[i] = g_array_index(outcome->storage, OrrStorageRow, i);
}

static void fill(gconstpointer text, gpointer answer) { simulate_here(text, answer); }

static Answer run(const char *fidelity, const char *parallel, const char *storage,
                  const char *more) {
  Answer answer = {0};
  g_autofree char *text = g_strdup_printf(
      "schema: scenario/1\nname: test\nfidelity: %s\n"
      "cluster: {base: dgx-a100-superpod, nodes: 8, %s,\n"
      "          fabric: {kind: fat-tree, levels: 2, nodes-per-leaf: 2, radix: 40, "
      "oversubscription: 4}}\n"
      "model: {name: small, layers: 8, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"
      "workload: {kind: training, stack: none, parallel: %s, batch: {global: 64, micro: 1}%s}\n",
      fidelity, storage, parallel, more);
  shared_costs("a100-80gb-sxm");
  if (!forked_answer(fill, text, &answer, sizeof answer)) g_error("no answer for\n%s", text);
  return answer;
}

static Answer fine(const char *fidelity, const char *parallel, const char *storage,
                   const char *more) {
  const Answer answer = run(fidelity, parallel, storage, more);
  if (!answer.fine) g_error("%s: %s", storage, answer.error);
  return answer;
}

#define ONE_STAGE "{tp: 8, pp: 1, dp: 8}"
#define SAVED ", steps: 2, checkpoint: {every: 1}"

/* 64 GPUs of 8 nodes write B bytes each at once. PCIe of a GPU is 31.5 GB/s at an efficiency of
 * 0.76, 23.94 GB/s, and so is PCIe of the switch above two of them. The write takes the longest of
 *
 *   B / pcie    2 B / switch    8 B / node    64 B / (servers * server)    64 B / aggregate */
static void isolated(void) {
  static const struct {
    const char *storage;
    double per_byte; /* seconds for each of B */
  } cases[] = {
      {"max-nodes: 0, storage: {servers: 8, server-bandwidth: 1 TB/s, node-bandwidth: 1 TB/s}",
       2 / 23.94e9},
      {"max-nodes: 0, node: {host: {gpus-per-switch: 0}}, storage: {servers: 8, server-bandwidth: "
       "1 TB/s, "
       "node-bandwidth: 1 TB/s}",
       1 / 23.94e9},
      {"max-nodes: 0, storage: {servers: 8, server-bandwidth: 1 TB/s, node-bandwidth: 20 GB/s}",
       8 / 20e9},
      {"max-nodes: 0, storage: {servers: 8, server-bandwidth: 5 GB/s, node-bandwidth: 1 TB/s}",
       64 / 40e9},
      {"max-nodes: 0, storage: {servers: 8, server-bandwidth: 5 GB/s, node-bandwidth: 1 TB/s, "
       "aggregate-bandwidth: 10 "
       "GB/s}",
       64 / 10e9},
      /* one server per file, in rotation: 22 of 64 files on the fullest of 3 */
      {"max-nodes: 0, storage: {servers: 3, server-bandwidth: 5 GB/s, node-bandwidth: 1 TB/s, "
       "stripes: 1}",
       22 / 5e9},
      /* two of 3 servers per file, GPU g on 2g and 2g + 1 mod 3: 128 halves, 43 on one */
      {"max-nodes: 0, storage: {servers: 3, server-bandwidth: 5 GB/s, node-bandwidth: 1 TB/s, "
       "stripes: 2}",
       43 / 2.0 / 5e9},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const Answer a = fine("auto", ONE_STAGE, cases[i].storage, SAVED);
    const double each = a.rows[0].bytes / 64;
    g_test_message("%s: %g s, wanted %g", cases[i].storage, a.rows[0].wall_s,
                   each * cases[i].per_byte);
    g_assert_cmpuint(a.n, ==, 1);
    g_assert_cmpint(a.rows[0].count, ==, 2);
    g_assert_cmpfloat_with_epsilon(a.rows[0].wall_s, each * cases[i].per_byte,
                                   1e-9 * a.rows[0].wall_s);
  }
}

/* 14 bytes per parameter: 12 l h^2 + 13 l h for the layers (GPT with biases), V h for the
 * embedding, s h for positions, 2 h for the last norm. The vocabulary is padded to a multiple of
 * 8 * 128 = 1,024: 51,200 is 50 times that. */
static void bytes(void) {
  const double l = 8, h = 4096,
               parameters = l * (12 * h * h + 13 * h) + 51200 * h + 2048 * h + 2 * h;
  const Answer a =
      fine("auto", ONE_STAGE,
           "max-nodes: 0, storage: {servers: 8, server-bandwidth: 9 GB/s, node-bandwidth: 9 GB/s}",
           SAVED);
  g_test_message("%.9g bytes, wanted %.9g", a.rows[0].bytes, 14 * parameters);
  /* All 8 tensor-parallel ranks hold positions, norms and biases, and each writes its copy: 7 s h
   * more for positions, and little for the rest. */
  g_assert_cmpfloat(a.rows[0].bytes, >=, 14 * (parameters + 7 * 2048 * h));
  g_assert_cmpfloat(a.rows[0].bytes, <=, 14 * (parameters + 7 * 2048 * h) * 1.005);
}

/* Each of 64 GPUs loads what it holds. Of N parameters, 14 bytes each, a checkpoint has 14 N bytes.
 *
 *   none      64 x 14 N               zero-1    64 x 2 N + 12 N
 *   hsdp / 8  8 copies of 14 N        fsdp      14 N
 *
 * Servers give 40 GB/s. The load comes before the steps: these take and draw as much without it,
 * but for launches that the host has ahead when the first one begins. */
static void loads(void) {
  static const struct {
    const char *sharding;
    double copies; /* of 14 N */
  } cases[] = {{"none", 64},
               {"zero-1", (64 * 2 + 12) / 14.0},
               {"zero-3", 1},
               {"fsdp", 1},
               {"{kind: hsdp, group: 8}", 8}};
  const char *const storage =
      "max-nodes: 0, storage: {servers: 8, server-bandwidth: 5 GB/s, node-bandwidth: 1 TB/s}";
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *saved = g_strdup_printf(
        ", steps: 2, optimizer: {sharding: %s}, checkpoint: {every: 1}", cases[i].sharding);
    g_autofree char *both =
        g_strdup_printf(", steps: 2, optimizer: {sharding: %s}, checkpoint: {every: 1, load: true}",
                        cases[i].sharding);
    const Answer a = fine("auto", "{tp: 1, pp: 1, dp: 64}", storage, saved);
    const Answer b = fine("auto", "{tp: 1, pp: 1, dp: 64}", storage, both);
    const OrrStorageRow *load = &b.rows[1];
    g_test_message("%s: %g bytes of %g in %g s", cases[i].sharding, load->bytes, a.rows[0].bytes,
                   load->wall_s);
    g_assert_cmpuint(b.n, ==, 2);
    g_assert_cmpfloat_with_epsilon(load->bytes / a.rows[0].bytes, cases[i].copies, 1e-9);
    g_assert_cmpfloat_with_epsilon(load->wall_s, load->bytes / 40e9, 1e-9 * load->wall_s);
    g_assert_cmpfloat_with_epsilon(b.iteration_s, a.iteration_s, 1e-9 * a.iteration_s);
    g_assert_cmpfloat_with_epsilon(b.storage_s, a.storage_s, 1e-6 * a.iteration_s);
    g_assert_cmpfloat_with_epsilon(b.power_w, a.power_w, 0.01 * a.power_w);
  }
}

/* The stages of a pipeline hold different numbers of parameters: the first has the embedding of
 * 0.21 of 1.8 billion, and the others wait for its load. That is before the steps, too, which wait
 * for each other as long as without it; each lane's kinds of time add up to the steps. */
static void unequal_loads(void) {
  const char *const storage =
      "max-nodes: 0, storage: {servers: 8, server-bandwidth: 5 GB/s, node-bandwidth: 1 TB/s}";
  const Answer a = fine("auto", "{tp: 1, pp: 8, dp: 8}", storage, ", steps: 2");
  const Answer b =
      fine("auto", "{tp: 1, pp: 8, dp: 8}", storage, ", steps: 2, checkpoint: {load: true}");
  g_test_message("load %g s; bubble %g and %g s", b.rows[0].wall_s, a.bubble_s, b.bubble_s);
  g_assert_cmpfloat(b.rows[0].wall_s, >, b.iteration_s);
  g_assert_cmpfloat_with_epsilon(b.iteration_s, a.iteration_s, 0.01 * a.iteration_s);
  g_assert_cmpfloat_with_epsilon(b.bubble_s, a.bubble_s, 0.01 * a.iteration_s);
  g_assert_cmpfloat_with_epsilon(b.storage_s, 0, 1e-9 * a.iteration_s);
  g_assert_cmpfloat_with_epsilon(a.fractions, a.lanes, 1e-9);
  g_assert_cmpfloat_with_epsilon(b.fractions, b.lanes, 1e-9);
}

/* Sharded or not, sync or not, over both attachments, over PCIe, with data: folded equals full. */
static void folded_is_full(void) {
  static const char *const storages[] = {
      "max-nodes: 0, storage: {servers: 4, server-bandwidth: 20 GB/s, node-bandwidth: 25 GB/s}",
      "max-nodes: 0, storage: {servers: 4, server-bandwidth: 20 GB/s, attach: fabric}",
      "max-nodes: 0, routing: ecmp, storage: {servers: 6, server-bandwidth: 20 GB/s, attach: "
      "fabric, stripes: 2}",
      "max-nodes: 0, node: {scale-up-domain: 2, host: {network-path: bridge, gpus-per-switch: 4, "
      "bridge-bandwidth: 90 "
      "GB/s}}, storage: {servers: 4, server-bandwidth: 20 GB/s, attach: fabric}",
  };
  static const char *const mores[] = {
      SAVED,
      ", steps: 3, checkpoint: {every: 1, mode: async}",
      ", steps: 2, checkpoint: {every: 2, sharded: false, load: true}",
      ", steps: 2, checkpoint: {every: 2, sharded: false, mode: async}, data-bytes: 20 MB",
  };
  for (guint s = 0; s < G_N_ELEMENTS(storages); s++)
    for (guint m = 0; m < G_N_ELEMENTS(mores); m++) {
      const Answer a = fine("folded", "{tp: 4, pp: 4, dp: 4}", storages[s], mores[m]);
      const Answer b = fine("full", "{tp: 4, pp: 4, dp: 4}", storages[s], mores[m]);
      g_test_message("%s %s: %u and %u lanes, %.17g and %.17g s", storages[s], mores[m], a.lanes,
                     b.lanes, a.iteration_s, b.iteration_s);
      g_assert_cmpfloat_with_epsilon(a.iteration_s, b.iteration_s, 1e-9 * b.iteration_s);
      g_assert_cmpfloat_with_epsilon(a.storage_s, b.storage_s, 1e-8 * b.iteration_s);
    }
}

/* Servers and NICs twice as fast halve the time. A synchronous write lengthens its step by its
 * time; a step without a write is unchanged. */
static void scales(void) {
  const Answer none = fine("auto", ONE_STAGE, "max-nodes: 0", ", steps: 2");
  const Answer slow =
      fine("auto", ONE_STAGE,
           "max-nodes: 0, storage: {servers: 4, server-bandwidth: 2 GB/s, node-bandwidth: 5 GB/s}",
           SAVED);
  const Answer fast =
      fine("auto", ONE_STAGE,
           "max-nodes: 0, storage: {servers: 4, server-bandwidth: 4 GB/s, node-bandwidth: 10 GB/s}",
           SAVED);
  g_assert_cmpfloat_with_epsilon(slow.rows[0].wall_s, 2 * fast.rows[0].wall_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(slow.iteration_s - none.iteration_s, slow.rows[0].wall_s, 1e-6);
}

/* Asynchronous: the step waits for the copy to the host, 2 B / switch. Where the write outlasts the
 * interval to the next checkpoint, the step waits for the write, too, so that in the long run a
 * checkpoint takes as long as its write. */
static void async(void) {
  const char *const more = ", steps: 3, checkpoint: {every: 1, mode: async}";
  const Answer none = fine("auto", ONE_STAGE, "max-nodes: 0", ", steps: 3");
  const Answer fast = fine(
      "auto", ONE_STAGE,
      "max-nodes: 0, storage: {servers: 8, server-bandwidth: 100 GB/s, node-bandwidth: 200 GB/s}",
      more);
  const Answer slow = fine(
      "auto", ONE_STAGE,
      "max-nodes: 0, storage: {servers: 1, server-bandwidth: 10 GB/s, node-bandwidth: 200 GB/s}",
      more);
  g_assert_cmpuint(fast.n, ==, 2);                             /* the write, the snapshot */
  const double copy_s = 2 * fast.rows[1].bytes / 64 / 23.94e9; /* two GPUs per PCIe switch */
  g_assert_cmpfloat_with_epsilon(fast.rows[1].wall_s, copy_s, 1e-9);
  /* the write and the reading, of hosts, do not slow kernels as collectives do (1.19 on A100) */
  g_assert_cmpfloat_with_epsilon(fast.iteration_s - none.iteration_s, copy_s,
                                 1e-6 * none.iteration_s);
  const Answer read = fine(
      "auto", ONE_STAGE,
      "max-nodes: 0, storage: {servers: 8, server-bandwidth: 1 GB/s, node-bandwidth: 200 GB/s}",
      ", steps: 3, data-bytes: 5 MB");
  g_assert_cmpfloat(read.rows[0].wall_s, >, 0.1 * none.iteration_s);
  g_assert_cmpfloat_with_epsilon(read.iteration_s, none.iteration_s + read.storage_s,
                                 1e-6 * none.iteration_s);
  g_assert_cmpfloat(slow.rows[0].wall_s, >, none.iteration_s);
  /* step 3 ends after two writes and their copies */
  g_assert_cmpfloat(3 * slow.iteration_s, >, 2 * slow.rows[0].wall_s);
  /* the last write outlasts the steps: no step waits for it, and it is in no mean power */
  g_assert_cmpfloat_with_epsilon(slow.iteration_s - none.iteration_s, slow.storage_s,
                                 1e-6 * none.iteration_s);
  g_assert_cmpfloat_with_epsilon(slow.fractions / slow.lanes, 1, 1e-9);
  const double computes_j = none.power_w * none.iteration_s;
  const double waits_w = (fast.power_w * fast.iteration_s - computes_j) / copy_s;
  g_assert_cmpfloat_with_epsilon(slow.power_w * slow.iteration_s,
                                 computes_j + waits_w * slow.storage_s, 1e-3 * computes_j);
}

/* Reading a step's data ahead is hidden where it is shorter than the step, and sets its time where
 * it is longer, however many steps are simulated: 2 GB each for 64 sequences from a server of 10
 * GB/s are 12.8 s. */
static void reads_ahead(void) {
  const char *const servers =
      "max-nodes: 0, storage: {servers: 1, server-bandwidth: 10 GB/s, node-bandwidth: 200 GB/s}";
  const Answer none = fine("auto", ONE_STAGE, servers, "");
  for (int steps = 1; steps <= 3; steps++) {
    g_autofree char *little = g_strdup_printf(", steps: %d, data-bytes: 1 MB", steps);
    g_autofree char *much = g_strdup_printf(", steps: %d, data-bytes: 2 GB", steps);
    const Answer hidden = fine("auto", ONE_STAGE, servers, little);
    const Answer bound = fine("auto", ONE_STAGE, servers, much);
    g_assert_cmpfloat_with_epsilon(hidden.iteration_s, none.iteration_s, 1e-6 * none.iteration_s);
    g_assert_cmpfloat_with_epsilon(bound.iteration_s / bound.rows[0].wall_s, 1, 1e-3);
  }
}

/* On an oversubscribed compute fabric, an asynchronous write takes bandwidth from the gradient
 * reduction of the next step; on a network of its own it does not. */
static void contends(void) {
  const char *const more = ", steps: 4, checkpoint: {every: 1, mode: async}";
  const Answer own = fine(
      "auto", "{tp: 1, pp: 1, dp: 64}",
      "max-nodes: 0, storage: {servers: 8, server-bandwidth: 20 GB/s, node-bandwidth: 100 GB/s}",
      more);
  const Answer shared =
      fine("auto", "{tp: 1, pp: 1, dp: 64}",
           "max-nodes: 0, storage: {servers: 8, server-bandwidth: 20 GB/s, attach: fabric}", more);
  g_test_message("own %g s, shared %g s", own.iteration_s, shared.iteration_s);
  g_assert_cmpfloat(shared.iteration_s, >, 1.01 * own.iteration_s);
}

static void refused(const char *storage, const char *more, const char *wanted) {
  const Answer a = run("auto", ONE_STAGE, storage, more);
  if (a.fine || !strstr(a.error, wanted))
    g_error("%s: wanted '%s', got '%s'", storage, wanted, a.error);
}

static void refusals(void) {
  refused("max-nodes: 0", SAVED, "the cluster has none: set cluster.storage");
  refused("max-nodes: 0", ", data-bytes: 1 MB", "the cluster has none: set cluster.storage");
  refused("max-nodes: 0, storage: {servers: 2}", SAVED, "no server-bandwidth");
  refused("max-nodes: 0, storage: {servers: 2, server-bandwidth: 1 GB/s}", SAVED,
          "node-bandwidth must be greater than 0");
  refused("max-nodes: 0, storage: {servers: 2, server-bandwidth: 1 GB/s, node-bandwidth: 1 GB/s, "
          "attach: fabric}",
          SAVED, "does not apply");
  refused("max-nodes: 0, storage: {servers: 2, server-bandwidth: 1 GB/s, node-bandwidth: 1 GB/s, "
          "stripes: 3}",
          SAVED, "stripes is 3, but there are 2");
  refused("max-nodes: 8, storage: {servers: 2, server-bandwidth: 1 GB/s, attach: fabric}", SAVED,
          "raise max-nodes");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/storage/isolated", isolated);
  g_test_add_func("/storage/bytes", bytes);
  g_test_add_func("/storage/loads", loads);
  g_test_add_func("/storage/unequal-loads", unequal_loads);
  g_test_add_func("/storage/folded-is-full", folded_is_full);
  g_test_add_func("/storage/scales", scales);
  g_test_add_func("/storage/async", async);
  g_test_add_func("/storage/reads-ahead", reads_ahead);
  g_test_add_func("/storage/contends", contends);
  g_test_add_func("/storage/refusals", refusals);
  return g_test_run();
}
