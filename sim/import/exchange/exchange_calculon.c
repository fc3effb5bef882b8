/*
 * exchange_calculon.c - Calculon's application, execution and system become a scenario of training.
 *
 *   gpt3-175B.json      {"hidden": 12288, "feedforward": 49152, "seq_size": 2048, "attn_heads": 96,
 *                        "attn_size": 128, "num_blocks": 96}
 *   175B_full.json      {"num_procs": 64, "tensor_par": 8, "pipeline_par": 8, "data_par": 1,
 *                        "batch_size": 64, "microbatch_size": 1, "datatype": "float16",
 *                        "activation_recompute": "full", "pipeline_interleaving": 3, ...}
 *   h100_80g_nvl8.json  {"matrix": {"tflops": 1000}, "mem1": {"GiB": 80, "GBps": 3072},
 *                        "networks": [{"bandwidth": 450, "size": 8, "latency": 1e-6},
 *                                     {"bandwidth": 50, ...}]}
 *
 * The application and the execution are needed. A system changes the library's device that --device
 * names: rate, memory, and of both networks bandwidth, efficiency and latency; without one
 * --cluster names the machine. Calculon's tables of kernels' efficiencies are not carried: the
 * device's profile has measured kernels.
 *
 * Calculon has no vocabulary and no embeddings: GPT-2's 51,200 rows are assumed.
 *
 * Source: calculon-ai/calculon, models, systems and validation (01e8ac0, 4f81f02, 33a5aab).
 */
#include "sim/import/exchange/exchange_format.h"

static gboolean is_application(const OrrNode *tree) {
  return orr_node_get(tree, "attn_heads") && orr_node_get(tree, "num_blocks");
}

static gboolean is_execution(const OrrNode *tree) {
  return orr_node_get(tree, "tensor_par") && orr_node_get(tree, "pipeline_par");
}

static gboolean is_system(const OrrNode *tree) {
  return orr_node_get(tree, "matrix") && orr_node_get(tree, "networks");
}

static gboolean recognise(const OrrNode *tree) {
  return is_application(tree) || is_execution(tree) || is_system(tree);
}

static gint64 count(OrrExchange *exchange, const OrrNode *map, const char *key, double fallback) {
  const double value = orr_exchange_number(exchange, map, key, 1, 1e9, fallback);
  if (value != floor(value))
    orr_diags_error(exchange->diags, map->place, "%s takes a whole number", key);
  return (gint64)value;
}

static void write_model(OrrExchange *exchange, const OrrNode *app) {
  GString *out = exchange->text;
  g_string_append_printf(out, "model:\n  name: %s\n  layers: %ld\n  hidden: %ld\n  heads: %ld\n",
                         "calculon", count(exchange, app, "num_blocks", NAN),
                         count(exchange, app, "hidden", NAN),
                         count(exchange, app, "attn_heads", NAN));
  if (orr_node_get(app, "attn_size"))
    g_string_append_printf(out, "  head-dim: %ld\n", count(exchange, app, "attn_size", NAN));
  g_string_append_printf(out,
                         "  ffn: %ld\n  vocab: 51200  # not in Calculon: GPT-2's\n"
                         "  context: %ld\n",
                         count(exchange, app, "feedforward", NAN),
                         count(exchange, app, "seq_size", NAN));
  orr_exchange_note(exchange, "Calculon has no embeddings: a vocabulary of 51200 is assumed");
}

/* --- The machine --- */

/* What has the rate of products: since 71f6435 there is one of each format, before one of all. */
static const OrrNode *matrix_of(const OrrExchange *exchange, const OrrNode *system) {
  const OrrNode *matrix = orr_node_get(system, "matrix");
  const OrrNode *run = orr_exchange_tree_with(exchange, "tensor_par");
  const char *format = run ? orr_node_get_text(run, "datatype") : NULL;
  const OrrNode *own = format ? orr_node_get(matrix, format) : NULL;
  return own && own->kind == ORR_NODE_MAP ? own : matrix;
}

static void write_device(OrrExchange *exchange, const OrrNode *system, const OrrNode *inner) {
  const OrrNode *memory = orr_node_get(system, "mem1");
  const double tflops =
      orr_exchange_number(exchange, matrix_of(exchange, system), "tflops", 1e-3, 1e6, NAN);
  g_string_append_printf(exchange->text,
                         "  device:\n    base: %s\n    fp16: %.10g TFLOP/s\n    bf16: %.10g "
                         "TFLOP/s\n    scale-up-bandwidth: %.10g GB/s\n",
                         exchange->answers->device, tflops, tflops,
                         orr_exchange_number(exchange, inner, "bandwidth", 1e-3, 1e6, NAN));
  if (orr_node_get(inner, "efficiency"))
    g_string_append_printf(exchange->text, "    scale-up-efficiency: %.10g\n",
                           orr_exchange_number(exchange, inner, "efficiency", 1e-6, 1, NAN));
  if (!memory || memory->kind != ORR_NODE_MAP) return;
  g_string_append_printf(exchange->text,
                         "    memory: %.10g GiB\n    memory-bandwidth: %.10g GB/s\n",
                         orr_exchange_number(exchange, memory, "GiB", 1e-3, 1e6, NAN),
                         orr_exchange_number(exchange, memory, "GBps", 1e-3, 1e6, NAN));
}

static void write_nodes(OrrExchange *exchange, const OrrNode *inner, const OrrNode *outer,
                        gint64 procs) {
  const gint64 size = MIN(count(exchange, inner, "size", NAN), 1024);
  const double latency_s = orr_exchange_number(exchange, outer, "latency", 0, 1, 0);
  const double efficiency = orr_exchange_number(exchange, outer, "efficiency", 1e-6, 1, 1);
  /* Once per collective there; here each of a ring's n - 1 steps has it. */
  const double step_s = orr_exchange_number(exchange, inner, "latency", 0, 1, 0) /
                        (double)MAX(MIN(size, procs) - 1, 1);
  if (procs % size != 0 && procs > size)
    orr_diags_error(exchange->diags, inner->place, "num_procs %ld do not fill nodes of %ld", procs,
                    size);
  g_string_append_printf(exchange->text,
                         "  nodes: %ld\n  node:\n    gpus: %ld\n    scale-up-domain: %ld\n"
                         "    scale-up-latency: %.10g s\n    nics-per-gpu: 1\n"
                         "    nic-bandwidth: %.10g GB/s\n    nic-efficiency: %.10g\n"
                         "    nic-latency: %.10g s\n  fabric: fat-tree\n",
                         MAX(1, procs / size), MIN(size, procs), MIN(size, procs), step_s,
                         orr_exchange_number(exchange, outer, "bandwidth", 1e-3, 1e6, NAN),
                         efficiency, latency_s);
  orr_exchange_note(exchange,
                    "efficiencies of matrix, vector and memory, the networks' processor_usage and "
                    "ops, mem2: the device's profile has measured kernels, and NCCL's own costs");
}

static void write_system(OrrExchange *exchange, const OrrNode *system, gint64 procs) {
  const OrrNode *networks = orr_node_get(system, "networks");
  const guint n = networks->kind == ORR_NODE_LIST ? networks->items->len : 0;
  const OrrNode *inner = n > 0 ? networks->items->pdata[0] : NULL;
  const OrrNode *outer = n > 1 ? networks->items->pdata[1] : inner;
  if (n == 0 || n > 2 || inner->kind != ORR_NODE_MAP || outer->kind != ORR_NODE_MAP ||
      orr_node_get(system, "matrix")->kind != ORR_NODE_MAP)
    return orr_diags_error(exchange->diags, networks->place,
                           "one or two networks: inside a node, and between nodes");
  if (!exchange->answers->device)
    return orr_diags_error(exchange->diags, system->place,
                           "a system does not name its accelerator: add --device NAME, whose "
                           "measured kernels are used");
  g_string_append(exchange->text, "cluster:\n  name: calculon\n");
  write_device(exchange, system, inner);
  write_nodes(exchange, inner, outer, procs);
}

static void write_cluster(OrrExchange *exchange, gint64 procs) {
  const OrrNode *system = NULL, *first = exchange->trees->pdata[0];
  for (guint i = 0; i < exchange->trees->len; i++)
    if (is_system(exchange->trees->pdata[i])) system = exchange->trees->pdata[i];
  if (exchange->answers->cluster)
    g_string_append_printf(exchange->text, "cluster: {base: %s, nodes: 0, gpus: %ld}\n",
                           exchange->answers->cluster, procs);
  else if (system)
    write_system(exchange, system, procs);
  else
    orr_diags_error(exchange->diags, first->place,
                    "no system among the files: give one, or add --cluster NAME");
  if (exchange->answers->cluster && system)
    orr_exchange_note(exchange, "the system: --cluster names the machine");
}

/* --- The job --- */

static void write_precision(OrrExchange *exchange, const OrrNode *run) {
  static const char *const words[][2] = {
      {"float16", "fp16"}, {"bfloat16", "bf16"}, {"float32", "fp32"}, {"float8", "fp8"}};
  const char *text = orr_node_get_text(run, "datatype");
  for (guint i = 0; text && i < G_N_ELEMENTS(words); i++)
    if (g_str_equal(text, words[i][0])) {
      g_string_append_printf(exchange->text, "  precision: %s\n", words[i][1]);
      return;
    }
  orr_diags_error(exchange->diags, run->place,
                  "datatype takes float16, bfloat16, float32 or float8");
}

static void write_recompute(OrrExchange *exchange, const OrrNode *run) {
  const char *text = orr_node_get_text(run, "activation_recompute");
  const char *ours = !text || g_str_equal(text, "none") ? "none"
                     : g_str_equal(text, "full")        ? "full"
                     : g_str_equal(text, "attn_only")   ? "selective"
                                                        : NULL;
  if (ours)
    g_string_append_printf(exchange->text, "  recompute: %s\n", ours);
  else
    orr_diags_error(exchange->diags, run->place,
                    "activation_recompute takes none, attn_only or full");
}

static void write_layout(OrrExchange *exchange, const OrrNode *run) {
  const char *comm = orr_node_get_text(run, "tensor_par_comm_type");
  const gint64 tp = count(exchange, run, "tensor_par", NAN);
  const gint64 pp = count(exchange, run, "pipeline_par", NAN);
  const gint64 dp = count(exchange, run, "data_par", NAN);
  const gint64 chunks = count(exchange, run, "pipeline_interleaving", 1);
  const gboolean sequence = tp > 1 && comm && strcmp(comm, "ar") != 0;
  const char *overlap = orr_node_get_text(run, "tensor_par_overlap");
  const gboolean overlaps = sequence && overlap && strcmp(overlap, "none") != 0;
  if ((double)tp * (double)pp * (double)dp != (double)count(exchange, run, "num_procs", NAN))
    orr_diags_error(exchange->diags, run->place,
                    "num_procs is not tensor_par x pipeline_par x data_par");
  g_string_append_printf(exchange->text,
                         "  parallel: {tp: %ld, pp: %ld, dp: %ld, sequence-parallel: %s%s}\n", tp,
                         pp, dp, sequence ? "true" : "false",
                         overlaps ? ", tp-comm-overlap: userbuffers" : ", tp-comm-overlap: none");
  if (pp > 1 && chunks > 1)
    g_string_append_printf(exchange->text, "  pipeline: {kind: interleaved-1f1b, chunks: %ld}\n",
                           chunks);
}

static const char *const run_keys[] = {"num_procs",
                                       "tensor_par",
                                       "pipeline_par",
                                       "data_par",
                                       "batch_size",
                                       "microbatch_size",
                                       "datatype",
                                       "activation_recompute",
                                       "tensor_par_comm_type",
                                       "pipeline_interleaving",
                                       "optimizer_sharding",
                                       "data_par_overlap",
                                       "training",
                                       "tensor_par_overlap",
                                       NULL};

static void write_job(OrrExchange *exchange, const OrrNode *run) {
  const char *training = orr_node_get_text(run, "training");
  if (training && !orr_exchange_flag(run, "training"))
    orr_diags_error(exchange->diags, run->place,
                    "training is false: Calculon's inference is one pass without a cache, which no "
                    "scenario is");
  g_string_append(exchange->text, "workload:\n  kind: training\n");
  write_layout(exchange, run);
  g_string_append_printf(exchange->text, "  batch: {global: %ld, micro: %ld}\n",
                         count(exchange, run, "batch_size", NAN),
                         count(exchange, run, "microbatch_size", NAN));
  write_precision(exchange, run);
  write_recompute(exchange, run);
  g_string_append_printf(exchange->text, "  optimizer: {sharding: %s}\n",
                         orr_exchange_flag(run, "optimizer_sharding") ? "distributed-optimizer"
                                                                      : "none");
  g_string_append_printf(exchange->text, "  data-parallel: {overlap: %s}\n",
                         orr_exchange_flag(run, "data_par_overlap") ? "true" : "false");
  orr_exchange_note_unknown(exchange, run, run_keys, "execution keys that have no place here");
}

static void read_files(OrrExchange *exchange) {
  const OrrNode *app = orr_exchange_tree_with(exchange, "attn_heads");
  const OrrNode *run = orr_exchange_tree_with(exchange, "tensor_par");
  if (!app || !run || !is_application(app) || !is_execution(run))
    return orr_diags_error(
        exchange->diags, ((const OrrNode *)exchange->trees->pdata[0])->place,
        "Calculon's application and execution are both needed, and its system or --cluster NAME");
  g_autofree char *name =
      orr_exchange_name(exchange->answers->name ? exchange->answers->name : "calculon");
  g_string_append_printf(exchange->text, "schema: scenario/1\nname: %s\n", name);
  write_cluster(exchange, count(exchange, run, "num_procs", NAN));
  write_model(exchange, app);
  write_job(exchange, run);
}

const OrrExchangeFormat orr_exchange_calculon = {
    .name = "calculon",
    .sentence = "Calculon's application, execution and system become a scenario of training.",
    .recognise = recognise,
    .read = read_files,
};
