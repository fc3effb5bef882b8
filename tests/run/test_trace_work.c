/*
 * test_trace_work.c - replays of traces against closed forms: what ranks do alone takes the times
 * of the trace, what they do together the time of the same call in the workload collectives.
 *
 * What a training step writes takes the same time when it is read. The other files are made here,
 * message by message, as chakra's schema has them.
 */
#include <glib/gstdio.h>
#include <math.h>

#include "sim/run/simulate.h"
#include "tests/workloads/scenario_fixture.h"
#include "workloads/trace/protobuf.h"

enum { MEM_LOAD = 2, COMP = 4, SEND = 5, RECV = 6, COLL = 7 };
enum { ALL_REDUCE = 0, ALL_GATHER = 2, GATHER = 3, BARRIER = 9 };

#define HEAD                                                                                       \
  "schema: scenario/1\nname: t\nengine: fair\ncluster: {base: dgx-h100-superpod, nodes: 2}\n"

static char *folder;

/* --- Files --- */

typedef struct {
  guint64 id, type, us, deps[3]; /* dependencies end at 0 */
  gint64 comm_type, size, peer, tag, flops, bytes, stream;
  const char *group;
  guint8 dims[2]; /* 1: involved, 2: left out; 0: none */
  gboolean is_host, has_no_size;
} Node;

static void add_attribute(GByteArray *node, const char *name, guint32 field, guint64 number) {
  g_autoptr(GByteArray) attribute = g_byte_array_new();
  orr_protobuf_put_text(attribute, 1, name);
  orr_protobuf_put_number(attribute, field, number);
  orr_protobuf_put_bytes(node, 10, attribute->data, attribute->len);
}

static void add_group(GByteArray *node, const Node *from) {
  g_autoptr(GByteArray) attribute = g_byte_array_new(), list = g_byte_array_new();
  if (from->group) {
    orr_protobuf_put_text(attribute, 1, "pg_name");
    orr_protobuf_put_text(attribute, 29, from->group);
    orr_protobuf_put_bytes(node, 10, attribute->data, attribute->len);
  }
  if (!from->dims[0]) return;
  g_byte_array_set_size(attribute, 0);
  for (guint i = 0; i < G_N_ELEMENTS(from->dims); i++)
    orr_protobuf_put_number(list, 1, from->dims[i] == 1);
  orr_protobuf_put_text(attribute, 1, "involved_dim");
  orr_protobuf_put_bytes(attribute, 28, list->data, list->len);
  orr_protobuf_put_bytes(node, 10, attribute->data, attribute->len);
}

static void add_node(GByteArray *file, const Node *from) {
  g_autoptr(GByteArray) node = g_byte_array_new();
  orr_protobuf_put_number(node, 1, from->id);
  orr_protobuf_put_text(node, 2, "n");
  orr_protobuf_put_number(node, 3, from->type);
  for (guint i = 0; from->deps[i]; i++) orr_protobuf_put_number(node, 5, from->deps[i]);
  if (from->us) orr_protobuf_put_number(node, 7, from->us);
  add_attribute(node, "is_cpu_op", 27, from->is_host);
  if (from->type == COLL) add_attribute(node, "comm_type", 9, (guint64)from->comm_type);
  if (from->type == SEND) add_attribute(node, "comm_dst", 7, (guint64)from->peer);
  if (from->type == RECV) add_attribute(node, "comm_src", 7, (guint64)from->peer);
  if (from->type >= SEND && !from->has_no_size)
    add_attribute(node, "comm_size", 9, (guint64)from->size);
  if (from->tag) add_attribute(node, "comm_tag", 7, (guint64)from->tag);
  if (from->stream) add_attribute(node, "stream", 9, (guint64)from->stream);
  if (from->flops) add_attribute(node, "num_ops", 9, (guint64)from->flops);
  if (from->bytes) add_attribute(node, "tensor_size", 13, (guint64)from->bytes);
  add_group(node, from);
  orr_protobuf_put_varint(file, node->len);
  g_byte_array_append(file, node->data, node->len);
}

static void write_file(const char *name, const void *data, gsize length) {
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autoptr(GError) error = NULL;
  g_file_set_contents(path, data, (gssize)length, &error);
  g_assert_no_error(error);
}

static void write_rank(const char *name, guint rank, const Node *nodes, guint n) {
  g_autoptr(GByteArray) file = g_byte_array_new(), metadata = g_byte_array_new();
  g_autofree char *own = g_strdup_printf("%s.%u.et", name, rank);
  orr_protobuf_put_text(metadata, 1, "0.0.4");
  orr_protobuf_put_varint(file, metadata->len);
  g_byte_array_append(file, metadata->data, metadata->len);
  for (guint i = 0; i < n; i++) add_node(file, &nodes[i]);
  write_file(own, file->data, file->len);
}

/* --- Runs --- */

/* The result of a replay of @file with more keys, @more; NAN with the message in @ret_error. */
static OrrTraceResult result_of(const char *file, const char *more, char *ret_error) {
  g_autofree char *text =
      g_strdup_printf(HEAD "workload: {kind: trace, file: %s/%s%s}\n", folder, file, more);
  char error[1000] = "";
  OrrOutcome *outcome = outcome_of(text, error, sizeof error);
  const OrrTraceResult result = outcome ? outcome->result.trace : (OrrTraceResult){.time_s = NAN};
  if (ret_error) g_strlcpy(ret_error, error, sizeof error);
  if (!ret_error) g_assert_cmpstr(error, ==, "");
  orr_outcome_free(outcome);
  return result;
}

/* The same call by the workload collectives. */
static double call_s(const char *op, double bytes, guint ranks) {
  g_autofree char *text = g_strdup_printf(
      HEAD "workload: {kind: collectives, stack: none, collective: %s, begin: %.0f B, end: %.0f B, "
           "ranks: %u}\n",
      op, bytes, bytes, ranks);
  char error[1000] = "";
  OrrOutcome *outcome = outcome_of(text, error, sizeof error);
  g_assert_cmpstr(error, ==, "");
  const double time_s = outcome->result.collectives.time_s;
  orr_outcome_free(outcome);
  return time_s;
}

static void near(double got, double wanted) {
  g_assert_cmpfloat_with_epsilon(got, wanted, 1e-9 * fabs(wanted) + 1e-15);
}

/* --- Chakra ET --- */

#define MIB ((gint64)1 << 20)

/* Rank r computes for 1 + r/10 ms, all meet, then 0.5 ms: the slowest rank, the call, the rest. */
static void test_all_reduce(void) {
  for (guint r = 0; r < 8; r++) {
    const Node nodes[] = {
        {.id = 1, .type = COMP, .us = 1000 + 100 * r},
        {.id = 2, .type = COLL, .deps = {1}, .comm_type = ALL_REDUCE, .size = 256 * MIB},
        {.id = 3, .type = COMP, .deps = {2}, .us = 500}};
    write_rank("meet", r, nodes, 3);
  }
  const double call = call_s("all-reduce", 256.0 * MIB, 8);
  const OrrTraceResult result = result_of("meet.et", "", NULL);
  near(result.time_s, 1.7e-3 + call + 0.5e-3);
  near(result.compute_s, 1.35e-3 + 0.5e-3); /* 1 ms + (0 + ... + 7)/8 / 10 ms */
  near(result.exposed_comm_s, call);
  near(result.wait_s, 0.35e-3);
  g_assert_cmpint(result.n_collectives, ==, 1);
  g_assert_cmpint(result.n_nodes, ==, 24);
}

/* A memory-bound kernel and one that is bound by products, recorded on an A100 (2.039 TB/s, 312
 * TFLOP/s in bf16), on an H100 (3.35 TB/s, 989): 1 ms each, 1 ms 2.039/3.35 and 1 ms 312/989. The
 * third kernel's counts are unknown: it keeps its time. */
static void test_other_device(void) {
  const Node nodes[] = {{.id = 1, .type = COMP, .us = 1000, .bytes = 1000000000, .flops = 1},
                        {.id = 2, .type = COMP, .us = 1000, .deps = {1}, .flops = 200000000000},
                        {.id = 3, .type = COMP, .us = 1000, .deps = {2}}};
  write_rank("moved", 0, nodes, 3);
  near(result_of("moved.et", "", NULL).time_s, 3e-3);
  near(result_of("moved.et", ", recorded-on: h100-sxm", NULL).time_s, 3e-3);
  near(result_of("moved.et", ", recorded-on: a100-80gb-sxm", NULL).time_s,
       1e-3 * (2.039 / 3.35 + 312.0 / 989 + 1));
}

/* A rank gives 1 MiB to an all-gather of 4: the call gathers 4 MiB. */
static void test_all_gather(void) {
  const Node node = {.id = 7, .type = COLL, .comm_type = ALL_GATHER, .size = MIB};
  for (guint r = 0; r < 4; r++) write_rank("gather", r, &node, 1);
  near(result_of("gather.et", "", NULL).time_s, call_s("all-gather", 4.0 * MIB, 4));
}

/* What does not depend on a collective runs during it; ranks of groups of four meet among
 * themselves, whether the group has a name, or is what one dimension of 4 x 2 leaves. */
static void test_groups(void) {
  for (guint r = 0; r < 8; r++) {
    Node nodes[] = {{.id = 1, .type = COLL, .comm_type = ALL_REDUCE, .size = 64 * MIB},
                    {.id = 2, .type = COMP, .us = 10}};
    nodes[0].group = r < 4 ? "1" : "2";
    write_rank("named", r, nodes, 2);
    nodes[0].group = NULL;
    nodes[0].dims[0] = 1;
    nodes[0].dims[1] = 2;
    write_rank("sized", r, nodes, 2);
  }
  const double call = call_s("all-reduce", 64.0 * MIB, 4);
  g_assert_cmpfloat(call, >, 10e-6);
  near(result_of("named.et", "", NULL).time_s, call);
  near(result_of("sized.et", ", dims: [4, 2]", NULL).time_s, call);
  g_assert_cmpint(result_of("named.et", "", NULL).n_collectives, ==, 2);
}

static void test_groups_file(void) {
  for (guint r = 0; r < 4; r++) {
    const Node node = {.id = 1, .type = COLL, .comm_type = ALL_REDUCE, .size = MIB, .group = "5"};
    write_rank("file", r, &node, 1);
  }
  g_autofree char *good = g_strdup_printf(", groups: %s/good.json", folder);
  g_autofree char *bad = g_strdup_printf(", groups: %s/bad.json", folder);
  write_file("good.json", "{\"5\": [0, 1, 2, 3]}", 19);
  write_file("bad.json", "{\"5\": [0, 1]}", 13);
  char error[1000];
  near(result_of("file.et", good, NULL).time_s, call_s("all-reduce", MIB, 4));
  result_of("file.et", bad, error);
  g_assert_nonnull(strstr(error, "not a member of group '5'"));
}

/* 0 sends to 1, which sends back what it got after 30 us. */
static void test_sends(void) {
  const Node first[] = {{.id = 1, .type = SEND, .peer = 1, .size = MIB, .tag = 3},
                        {.id = 2, .type = RECV, .deps = {1}, .peer = 1, .size = MIB, .tag = 4}};
  const Node second[] = {{.id = 1, .type = RECV, .peer = 0, .size = MIB, .tag = 3},
                         {.id = 2, .type = COMP, .deps = {1}, .us = 30},
                         {.id = 3, .type = SEND, .deps = {2}, .peer = 0, .size = MIB, .tag = 4}};
  write_rank("echo", 0, first, 2);
  write_rank("echo", 1, second, 3);
  const OrrTraceResult result = result_of("echo.et", "", NULL);
  near(result.time_s, 2 * call_s("send-recv", MIB, 2) + 30e-6);
  g_assert_cmpint(result.n_sends, ==, 2);
}

/* A kernel that is ready goes before one that waits, whatever their order in the file. */
static void test_order(void) {
  for (guint r = 0; r < 2; r++) {
    const Node nodes[] = {{.id = 1, .type = COMP, .deps = {2}, .us = 1000},
                          {.id = 2, .type = COLL, .comm_type = ALL_REDUCE, .size = 256 * MIB},
                          {.id = 3, .type = COMP, .us = 20}};
    write_rank("order", r, nodes, 3);
  }
  near(result_of("order.et", "", NULL).time_s, call_s("all-reduce", 256.0 * MIB, 2) + 1e-3);
}

/* 989.4 TFLOP/s dense bf16 and 3.35 TB/s (the H100's datasheet, as the library has it). */
static void test_roofline(void) {
  const Node nodes[] = {{.id = 1, .type = COMP, .flops = 1000000000000},
                        {.id = 2, .type = COMP, .deps = {1}, .bytes = 3350000000},
                        {.id = 3, .type = COMP, .deps = {2}, .us = 2000}};
  write_rank("roof", 0, nodes, 3);
  const OrrTraceResult result = result_of("roof.et", "", NULL);
  g_assert_cmpfloat_with_epsilon(result.time_s, 1 / 989.4 + 1e-3 + 2e-3, 2e-6);
  g_assert_cmpfloat_with_epsilon(result.modelled_fraction, 1 - 2e-3 / result.time_s, 1e-9);
  g_assert_cmpfloat(result_of("roof.et", ", dtype: fp8", NULL).time_s, <, result.time_s);
}

/* PyTorch records a collective twice: the host's operator launches it, the kernel communicates. */
static void test_host(void) {
  for (guint r = 0; r < 2; r++) {
    const Node nodes[] = {{.id = 1, .type = COLL, .us = 40, .size = MIB, .is_host = TRUE},
                          {.id = 2, .type = COLL, .deps = {1}, .size = MIB}};
    write_rank("host", r, nodes, 2);
  }
  const OrrTraceResult result = result_of("host.et", "", NULL);
  near(result.time_s, 40e-6 + call_s("all-reduce", MIB, 2));
  g_assert_cmpint(result.n_collectives, ==, 1);
}

/* Two ranks: kernels of 1 ms and 3 ms on two streams, a call after the first, 0.5 ms of the host
 * after the call. A kernel runs for 3 ms, the two sum to 1 ms more; the last 2 ms of the second
 * hide the call; the parts add up to the time. */
static void test_at_once(void) {
  for (guint r = 0; r < 2; r++) {
    const Node nodes[] = {{.id = 1, .type = COMP, .us = 1000, .stream = 7},
                          {.id = 2, .type = COMP, .us = 3000, .stream = 8},
                          {.id = 3, .type = COLL, .deps = {1}, .size = 1024 * MIB},
                          {.id = 4, .type = COMP, .deps = {3}, .us = 500, .is_host = TRUE}};
    write_rank("at-once", r, nodes, 4);
  }
  const double call = call_s("all-reduce", 1024.0 * MIB, 2);
  const OrrTraceResult result = result_of("at-once.et", "", NULL);
  near(result.time_s, 1e-3 + call + 0.5e-3);
  near(result.compute_s, 3e-3);
  near(result.overlapped_s, 1e-3);
  near(result.exposed_comm_s, call - 2e-3);
  near(result.wait_s, 0.5e-3);
}

/* One file that all ranks follow is the same as that file for each. */
static void test_symmetric(void) {
  const Node nodes[] = {{.id = 1, .type = COMP, .us = 100},
                        {.id = 2, .type = COLL, .deps = {1}, .comm_type = ALL_REDUCE, .size = MIB}};
  for (guint r = 0; r < 8; r++) write_rank("each", r, nodes, 2);
  write_rank("one", 0, nodes, 2);
  char error[1000];
  near(result_of("one.et", ", ranks: 8, symmetric: true", NULL).time_s,
       result_of("each.et", "", NULL).time_s);
  result_of("one.et", ", ranks: 8", error);
  g_assert_nonnull(strstr(error, "symmetric: true"));
  const Node named = {.id = 1, .type = COLL, .size = MIB, .group = "1"};
  write_rank("own", 0, &named, 1);
  result_of("own.et", ", ranks: 8, symmetric: true", error);
  g_assert_nonnull(strstr(error, "names a process group"));
}

/* --- Refusals --- */

static void test_refusals(void) {
  static const struct {
    const char *said;
    Node nodes[2];
  } cases[] = {
      {"two nodes have the id 1", {{.id = 1, .type = COMP}, {.id = 1, .type = COMP}}},
      {"depends on 9, which the file lacks", {{.id = 1, .type = COMP, .deps = {9}}, {.id = 2}}},
      {"circle", {{.id = 1, .type = COMP, .deps = {2}}, {.id = 2, .type = COMP, .deps = {1}}}},
      {"gather and scatter", {{.id = 1, .type = COLL, .comm_type = GATHER}, {.id = 2}}},
      {"a collective needs comm_size", {{.id = 1, .type = COLL, .has_no_size = TRUE}, {.id = 2}}},
      {"comm_type, 0 to 9", {{.id = 1, .type = COLL, .comm_type = 10}, {.id = 2}}},
      {"unknown type of node", {{.id = 1, .type = 11}, {.id = 2}}},
      {"give workload.dims", {{.id = 1, .type = COLL, .dims = {1, 2}}, {.id = 2}}},
      {"sends nothing to itself", {{.id = 1, .type = SEND, .peer = 0}, {.id = 2}}},
      {"nothing received from rank 0 to rank 1", {{.id = 1, .type = SEND, .peer = 1}, {.id = 2}}},
  };
  char error[1000];
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    write_rank("bad", 0, cases[i].nodes, 2);
    result_of("bad.et", "", error);
    if (!strstr(error, cases[i].said)) g_error("'%s' is not in '%s'", cases[i].said, error);
  }
  result_of("none.et", "", error);
  g_assert_nonnull(strstr(error, "none.0.et"));
  result_of("a.csv", "", error);
  g_assert_nonnull(strstr(error, "NAME.goal"));
  write_file("cut.0.et",
             "\x07\x0a\x05"
             "0.0",
             6);
  result_of("cut.et", "", error);
  g_assert_nonnull(strstr(error, "the file ends within one"));
}

/* Ranks that disagree about what they call together. */
static void test_unlike(void) {
  const Node one = {.id = 1, .type = COLL, .size = MIB}, other = {.id = 1, .type = COLL, .size = 8};
  const Node twice[] = {one, {.id = 2, .type = COLL, .size = MIB}};
  char error[1000];
  write_rank("unlike", 0, &one, 1);
  write_rank("unlike", 1, &other, 1);
  result_of("unlike.et", "", error);
  g_assert_nonnull(strstr(error, "the collectives of group 'all ranks' differ"));
  write_rank("unlike", 1, twice, 2);
  result_of("unlike.et", "", error);
  g_assert_nonnull(strstr(error, "some would never end"));
}

/* --- GOAL --- */

static void check_goal(const char *text, double wanted_s) {
  write_file("t.goal", text, strlen(text));
  near(result_of("t.goal", "", NULL).time_s, wanted_s);
}

static void test_goal(void) {
  const double send_s = call_s("send-recv", 1e6, 2);
  check_goal("num_ranks 1\nrank 0 {\na: calc 1000\nb: calc 500\nb requires a\n}\n", 1.5e-6);
  check_goal("num_ranks 1\nrank 0 {\na: calc 1000 cpu 0\nb: calc 500 cpu 1\n}\n", 1e-6);
  check_goal("num_ranks 1\nrank 0 {\na: calc 1000 cpu 0\nb: calc 500 cpu 1\nb irequires a\n}",
             1e-6);
  check_goal(
      "num_ranks 2 // two\nrank 1 {\nr: recv 1000000b from 0 tag 5\nc: calc 7000\nc requires "
      "r\n}\nrank 0 {\n/* to\n 1 */ s: send 1000000b to 1 tag 5 cpu 0 nic 0\n}\n",
      send_s + 7e-6);
}

/* Three rounds, then 1 ms. */
static void test_broadcast(void) {
  char error[1000] = "";
  OrrOutcome *outcome =
      outcome_of(HEAD "workload: {kind: trace, file: scenarios/traces/broadcast-8.goal}\n", error,
                 sizeof error);
  g_assert_cmpstr(error, ==, "");
  near(outcome->result.trace.time_s, 3 * call_s("send-recv", 64.0 * MIB, 2) + 1e-3);
  orr_outcome_free(outcome);
}

static void test_goal_refusals(void) {
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"rank 0 {\n}\n", "t.goal:1:1: expected num_ranks first, found 'rank'"},
      {"num_ranks 1\nrank 0 {\ncalc x\n}\n", "t.goal:3:6: expected a number"},
      {"num_ranks 1\nrank 0 {\na: calc 1\n", "expected } before the end of the file"},
      {"num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n", "t.goal:4:12: expected the label"},
      {"num_ranks 2\nrank 0 {\nrecv 1b from -1\n}\n", "from any rank is not replayed"},
      {"num_ranks 2\nrank 0 {\nsend 1b to 2\n}\n", "a number up to 1, found '2'"},
      {"num_ranks 2\nrank 0 {\nsend 1 to 1\n}\n", "and then b, found '1'"},
      {"num_ranks 2\nrank 0 {\nsend 1b to 1\n}\n", "nothing received"},
      {"num_ranks 1\nrank 0 {\na: calc 1\na: calc 1\n}\n", "no earlier operation"},
      {"num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n", "circle"},
  };
  char error[1000];
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    write_file("t.goal", cases[i].text, strlen(cases[i].text));
    result_of("t.goal", "", error);
    if (!strstr(error, cases[i].said)) g_error("'%s' is not in '%s'", cases[i].said, error);
  }
}

/* --- There and back --- */

#define STEP(parallel)                                                                             \
  HEAD "model: {name: small, layers: 4, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"   \
       "workload: {kind: training, stack: none, parallel: {" parallel "}, batch: {global: 8, "     \
       "micro: 1}, steps: 1, optimizer: {sharding: distributed-optimizer}}\n"

/* The step time of @text, whose ranks are written to @name. */
static double write_step(const char *text, const char *name) {
  OrrLibrary *library = shared_library();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario = scenario_of(library, text, "");
  g_autofree char *path = g_build_filename(folder, name, NULL);
  OrrOutcome *outcome = orr_simulate(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  const double step_s = outcome->result.training.iteration_time_s;
  orr_outcome_free(outcome);
  orr_exchange_write(library, scenario, path, &error);
  g_assert_no_error(error);
  return step_s;
}

/* Kernels are rounded to microseconds, half of one per stream; the norm of the gradients, which all
 * ranks wait for, is an all-reduce of all ranks instead of one replica's: a few microseconds. */
static void check_round_trip(const char *text, guint ranks) {
  const double step_s = write_step(text, "step.et");
  const OrrTraceResult result = result_of("step.et", ", nccl: {}", NULL);
  g_assert_cmpint(result.n_gpus, ==, ranks);
  g_assert_cmpfloat(step_s, >, 10e-3);
  g_assert_cmpfloat_with_epsilon(result.time_s, step_s, 1e-3 * step_s);
  g_autofree char *groups = g_strdup_printf(", groups: %s/step.groups.json", folder);
  near(result_of("step.et", groups, NULL).time_s, result.time_s);
}

static void test_round_trip(void) {
  check_round_trip(STEP("pp: 2"), 16);
  check_round_trip(STEP("tp: 4, pp: 2"), 16);
  check_round_trip(STEP("tp: 8"), 16);
}

/* Eight stages: a schedule in GOAL has the same work and the same sends, 16 micro-batches there and
 * back over 7 boundaries. The norm of the gradients becomes a ring of 8 ranks, 14 sends of each,
 * one after another; each costs a call's launch instead of a hop: 0.1 ms. */
static void test_goal_round_trip(void) {
  static const char text[] =
      "schema: scenario/1\nname: t\nengine: fair\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
      "model: {name: small, layers: 8, hidden: 4096, heads: 32, vocab: 51200, context: 2048, "
      "tied-embeddings: false}\nworkload: {kind: training, stack: none, parallel: {pp: 8}, "
      "batch: {global: 16, micro: 1}, steps: 1}\n";
  const double step_s = write_step(text, "step.goal");
  const OrrTraceResult result = result_of("step.goal", "", NULL);
  g_assert_cmpint(result.n_sends, ==, 16 * 7 * 2 + 8 * 14);
  g_assert_cmpfloat_with_epsilon(result.time_s, step_s, 1e-3 * step_s);
}

static void test_unwritable(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrScenario) scenario =
      scenario_of(shared_library(), HEAD "workload: {kind: collectives, stack: none}\n", "");
  g_autofree char *path = g_build_filename(folder, "x.et", NULL);
  g_assert_false(orr_exchange_write(shared_library(), scenario, path, &error));
  g_assert_nonnull(strstr(error->message, "a training step"));
}

static void remove_folder(void) {
  GDir *files = g_dir_open(folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name(files));) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_unlink(path);
  }
  g_dir_close(files);
  g_rmdir(folder);
  g_free(folder);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("orrery-trace-XXXXXX", NULL);
  g_assert_nonnull(folder);
  g_test_add_func("/trace/all-reduce", test_all_reduce);
  g_test_add_func("/trace/other-device", test_other_device);
  g_test_add_func("/trace/all-gather", test_all_gather);
  g_test_add_func("/trace/groups", test_groups);
  g_test_add_func("/trace/groups-file", test_groups_file);
  g_test_add_func("/trace/sends", test_sends);
  g_test_add_func("/trace/order", test_order);
  g_test_add_func("/trace/roofline", test_roofline);
  g_test_add_func("/trace/host", test_host);
  g_test_add_func("/trace/at-once", test_at_once);
  g_test_add_func("/trace/symmetric", test_symmetric);
  g_test_add_func("/trace/refusals", test_refusals);
  g_test_add_func("/trace/unlike", test_unlike);
  g_test_add_func("/trace/goal", test_goal);
  g_test_add_func("/trace/broadcast", test_broadcast);
  g_test_add_func("/trace/goal-refusals", test_goal_refusals);
  g_test_add_func("/trace/round-trip", test_round_trip);
  g_test_add_func("/trace/goal-round-trip", test_goal_round_trip);
  g_test_add_func("/trace/unwritable", test_unwritable);
  const int status = g_test_run();
  remove_folder();
  return status;
}
