/*
 * verb_plan_nccl.c - orrery plan nccl: what nccl-tests must print on a machine, with bounds: the
 * table of an acceptance test.
 */
#include "sim/cli/cli.h"
#include "sim/cli/summary.h"
#include "sim/nccl/nccl_diagnosis.h"
#include "sim/run/scenario_stack.h"

static char *cluster, *nodes_text, *collectives, *begin, *end;
static double factor = 2;
static gboolean knobs;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("cluster", cluster, "NAME", "The machine"),
    ORR_OPTION_TEXT("nodes", nodes_text, "N,...",
                    "Numbers of nodes (default: 1, and all of the cluster's document)"),
    ORR_OPTION_TEXT("collectives", collectives, "NAME,...",
                    "all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, reduce or "
                    "send-recv (default: the first four)"),
    ORR_OPTION_TEXT("begin", begin, "SIZE", "The first size (default: 8 B)"),
    ORR_OPTION_TEXT("end", end, "SIZE", "The last size (default: 8 GiB)"),
    ORR_OPTION_REAL("factor", factor, "From one size to the next (default: 2)"),
    ORR_OPTION_FLAG("knobs", knobs,
                    "Instead: the cost at each size of settings that are often wrong (NCCL_IB_HCA, "
                    "GPUDirect RDMA, PXN, queue pairs)"),
    ORR_OPTION_SET("workload.stack=nccl-2.18"),
    ORR_OPTION_JOBS("Worker processes (default: one per core)"),
    ORR_OPTION_CSV("Print CSV"),
    ORR_OPTION_JSON("one JSON array"),
    ORR_OPTION_MARKDOWN("a table in Markdown"),
    {NULL},
};

static gboolean add_nodes(GArray *nodes, const char *text, GError **error) {
  g_auto(GStrv) words = g_strsplit(text, ",", -1);
  for (char **word = words; *word; word++) {
    gint64 n = 0;
    if (!g_ascii_string_to_signed(g_strstrip(*word), 10, 1, 1000000, &n, NULL))
      return orr_fault_set(error, ORR_FAULT_USAGE,
                           "--nodes takes numbers from 1 to 1000000 with commas, found '%s'",
                           *word);
    g_array_append_val(nodes, n);
  }
  return TRUE;
}

static gboolean add_collectives(GArray *ops, GError **error) {
  g_auto(GStrv) words = g_strsplit(
      collectives ? collectives : "all-reduce,all-gather,reduce-scatter,all-to-all", ",", -1);
  for (char **word = words; *word; word++) {
    int op = 0;
    g_strstrip(*word);
    while (op < ORR_N_COLLECTIVES && strcmp(*word, orr_collective_words[op]) != 0) op++;
    if (op == ORR_N_COLLECTIVES)
      return orr_cli_unknown("collective", *word, orr_collective_words, error) == 0;
    g_array_append_val(ops, op);
  }
  return TRUE;
}

static gboolean read_sizes(OrrNcclCurveQuestion *question, GError **error) {
  if (!orr_quantity_parse(begin ? begin : "8 B", ORR_UNIT_BYTES, &question->begin_bytes, error)) {
    g_prefix_error(error, "--begin: ");
    return FALSE;
  }
  if (!orr_quantity_parse(end ? end : "8 GiB", ORR_UNIT_BYTES, &question->end_bytes, error)) {
    g_prefix_error(error, "--end: ");
    return FALSE;
  }
  if (!(factor >= 1.1 && factor <= 1e6))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--factor takes a number from 1.1 to 1e6, found %g", factor);
  question->factor = factor;
  return TRUE;
}

/* Every pair of a number of nodes and a collective. */
static OrrNcclCurveQuestion *questions_new(const OrrNcclCurveQuestion *like, const GArray *nodes,
                                           const GArray *ops, gint64 gpus_per_node) {
  OrrNcclCurveQuestion *questions = g_new(OrrNcclCurveQuestion, nodes->len * ops->len);
  for (guint n = 0; n < nodes->len; n++)
    for (guint o = 0; o < ops->len; o++) {
      OrrNcclCurveQuestion *question = &questions[n * ops->len + o];
      *question = *like;
      question->nodes = g_array_index(nodes, gint64, n);
      question->op = (OrrCollectiveOp)g_array_index(ops, int, o);
      if (question->op != ORR_SEND_RECV) continue;
      question->ranks = 2; /* from node to node, where there are two */
      question->stride = question->nodes > 1 ? gpus_per_node : 1;
    }
  return questions;
}

/* A number with the digits that its bounds support, or, for other programs, all. */
static char *number(double value, double low, double high) {
  if (orr_options.csv || orr_options.json)
    return isnan(value) ? NULL : g_strdup_printf("%.6g", value);
  return isnan(value) ? g_strdup("-") : orr_summary_band_digits(value, low, high, 2);
}

static const char *const columns[] = {"nodes",
                                      "ranks",
                                      "collective",
                                      "size_bytes",
                                      "time_us",
                                      "algbw_gbps",
                                      "busbw_gbps",
                                      "busbw_least",
                                      "busbw_typical",
                                      "time_most_us",
                                      "in_place_time_us",
                                      "in_place_busbw",
                                      "how",
                                      NULL};

static void add_row(OrrAnswer *answer, const OrrNcclCurveQuestion *question, gint64 gpus_per_node,
                    const OrrNcclCurvePoint *point) {
  const double us = point->time_s * 1e6, low = point->low_s * 1e6, high = point->high_s * 1e6;
  const double bus = point->busbw_bytes_per_s / 1e9, alg = point->algbw_bytes_per_s / 1e9;
  const double least = bus * us / high, most = bus * us / low;
  const double typical = bus * point->time_s / point->typical_s;
  const gint64 ranks = question->ranks ? question->ranks : question->nodes * gpus_per_node;
  char *cells[] = {g_strdup_printf("%ld", question->nodes),
                   g_strdup_printf("%ld", ranks),
                   g_strdup(orr_collective_words[question->op]),
                   g_strdup_printf("%.0f", point->bytes),
                   number(us, low, high),
                   number(alg, alg * us / high, alg * us / low),
                   number(bus, least, most),
                   number(least, least, most),
                   number(typical, least, most),
                   number(high, low, high),
                   number(us, low, high),
                   number(bus, least, most),
                   g_strdup_printf("%s %s, %s", point->algorithm, point->protocol, point->how),
                   NULL};
  orr_answer_add(answer, cells);
  for (guint i = 0; i + 1 < G_N_ELEMENTS(cells); i++) g_free(cells[i]);
}

/* In words, on what the table rests. */
static void print_head(const OrrScenario *scenario) {
  if (orr_options.csv || orr_options.json || orr_options.markdown) return;
  printf("# %s, %s: what nccl-tests should print on a healthy machine\n", scenario->cluster.name,
         orr_scenario_stack_name(&scenario->workload));
  printf("# busbw_least, time_most_us: 9 of 10 healthy machines reach them; busbw_typical: half of "
         "them do; -: nothing measured is like it\n"
         "# in place: the same, the simulation makes no difference; busbw and algbw in GB/s\n");
}

static int answer(OrrLibrary *library, const OrrScenario *scenario,
                  const OrrNcclCurveQuestion *questions, guint n, GError **error) {
  g_autofree OrrNcclCurveOrder *orders = g_new0(OrrNcclCurveOrder, n);
  for (guint i = 0; i < n; i++) orders[i] = (OrrNcclCurveOrder){&questions[i], NULL, TRUE};
  g_autoptr(GPtrArray) curves =
      orr_nccl_curve_replay(library, orders, n, (guint)orr_options.n_jobs);
  gboolean is_number[G_N_ELEMENTS(columns)];
  for (guint i = 0; i < G_N_ELEMENTS(columns); i++) is_number[i] = i != 2 && i != 12;
  g_autoptr(OrrAnswer) table = orr_answer_new(columns, is_number);
  for (guint i = 0; i < n; i++) {
    const OrrNcclCurve *curve = curves->pdata[i];
    if (curve->error) {
      g_propagate_prefixed_error(error, g_error_copy(curve->error),
                                 "%s over %ld nodes: ", orr_collective_words[questions[i].op],
                                 questions[i].nodes);
      return 1;
    }
    ORR_EACH(OrrNcclCurvePoint, point, curve->points)
      add_row(table, &questions[i], scenario->cluster.node.gpus, point);
  }
  print_head(scenario);
  g_autofree char *text = orr_options_answer(table);
  printf("%s", text);
  return 0;
}

/* --- What knobs cost --- */

static const char *const knob_columns[] = {"nodes",      "collective",   "size_bytes",
                                           "knob",       "setting",      "time_us",
                                           "busbw_gbps", "times_slower", NULL};

static gboolean is_knob(const char *fault) {
  static const char *const words[] = {"fewer-nics", "no-gdr", "no-pxn", "one-qp", NULL};
  return g_strv_contains(words, fault);
}

static void add_knob_rows(OrrAnswer *table, const OrrNcclCurveQuestion *question,
                          const OrrNcclSuspect *suspect, const OrrNcclCurve *healthy,
                          const OrrNcclCurve *curve) {
  ORR_EACH_AT(i, const OrrNcclCurvePoint, point, curve->points) {
    const double healthy_s = g_array_index(healthy->points, OrrNcclCurvePoint, i).time_s;
    char *cells[] = {g_strdup_printf("%ld", question->nodes),
                     g_strdup(orr_collective_words[question->op]),
                     g_strdup_printf("%.0f", point->bytes),
                     g_strdup(suspect ? suspect->fault->name : "none"),
                     g_strdup(suspect ? suspect->strength : ""),
                     g_strdup_printf("%.4g", point->time_s * 1e6),
                     g_strdup_printf("%.4g", point->busbw_bytes_per_s / 1e9),
                     g_strdup_printf("%.3g", point->time_s / healthy_s),
                     NULL};
    orr_answer_add(table, cells);
    for (guint k = 0; k + 1 < G_N_ELEMENTS(cells); k++) g_free(cells[k]);
  }
}

/* The healthy curve of @question and one for each knob that its machine has. A knob that cannot be
 * replayed is named on stderr. */
static gboolean add_knobs(OrrLibrary *library, const OrrNcclCurveQuestion *question,
                          OrrAnswer *table, GError **error) {
  g_autoptr(OrrScenario) scenario = orr_nccl_curve_scenario(library, question, NULL, error);
  g_autoptr(OrrFabric) fabric = scenario ? orr_fabric_new(&scenario->cluster, 1, error) : NULL;
  if (!fabric) return FALSE;
  OrrNcclCurveQuestion whole = *question;
  if (whole.ranks == 0) whole.ranks = orr_cluster_n_gpus(&scenario->cluster);
  const OrrNcclSite site = {&scenario->cluster, fabric, &whole};
  g_autoptr(GArray) suspects = orr_nccl_faults_suspects(&site);
  for (guint i = suspects->len; i-- > 0;)
    if (!is_knob(g_array_index(suspects, OrrNcclSuspect, i).fault->name))
      g_array_remove_index(suspects, i);
  const OrrNcclCurveOrder order = {&whole, NULL, FALSE};
  g_autoptr(GPtrArray) healthy = orr_nccl_curve_replay(library, &order, 1, 1);
  const OrrNcclCurve *base = healthy->pdata[0];
  if (base->error) {
    g_propagate_error(error, g_error_copy(base->error));
    return FALSE;
  }
  g_autoptr(GPtrArray) curves =
      orr_nccl_diagnosis_replay(library, &whole, suspects, (guint)orr_options.n_jobs);
  add_knob_rows(table, &whole, NULL, base, base);
  for (guint i = 0; i < curves->len; i++) {
    const OrrNcclSuspect *suspect = &g_array_index(suspects, OrrNcclSuspect, i);
    const OrrNcclCurve *curve = curves->pdata[i];
    if (curve->error)
      fprintf(stderr, "orrery: %s: %s\n", suspect->fault->name, curve->error->message);
    else
      add_knob_rows(table, &whole, suspect, base, curve);
  }
  return TRUE;
}

static int answer_knobs(OrrLibrary *library, const OrrNcclCurveQuestion *questions, guint n,
                        GError **error) {
  gboolean is_number[G_N_ELEMENTS(knob_columns)];
  for (guint i = 0; i < G_N_ELEMENTS(knob_columns); i++) is_number[i] = i != 1 && i != 3 && i != 4;
  g_autoptr(OrrAnswer) table = orr_answer_new(knob_columns, is_number);
  for (guint i = 0; i < n; i++)
    if (!add_knobs(library, &questions[i], table, error)) return 1;
  g_autofree char *text = orr_options_answer(table);
  printf("%s", text);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  OrrNcclCurveQuestion like = {.cluster = cluster, .stride = 1, .settings = orr_options.settings};
  g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(gint64));
  g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(int));
  if (!orr_cli_check_args(args, 0, 0, "plan nccl takes options only", error) ||
      !orr_options_check_form(error) || !orr_options_check_jobs(error))
    return 2;
  if (!cluster)
    return orr_fault_set(error, ORR_FAULT_USAGE, "plan nccl needs --cluster NAME") ? 0 : 2;
  if (!read_sizes(&like, error) || !add_collectives(ops, error)) return 2;
  if (nodes_text ? !add_nodes(nodes, nodes_text, error) : FALSE) return 2;
  g_autoptr(OrrScenario) whole = orr_nccl_curve_scenario(library, &like, NULL, error);
  if (!whole) return 2;
  const gint64 one = 1, all = orr_cluster_n_nodes(&whole->cluster);
  const gint64 per_node = whole->cluster.node.gpus;
  if (!nodes_text && per_node > 1) g_array_append_val(nodes, one);
  if (!nodes_text && all > 1) g_array_append_val(nodes, all);
  g_autofree OrrNcclCurveQuestion *questions = questions_new(&like, nodes, ops, per_node);
  const guint n = nodes->len * ops->len;
  return knobs ? answer_knobs(library, questions, n, error)
               : answer(library, whole, questions, n, error);
}

const OrrCommand orr_verb_plan_nccl = {
    .verb = "nccl",
    .sentence = "What nccl-tests must print on a machine: the table of an acceptance test.",
    .usage = "--cluster NAME [--nodes N,...] [--collectives NAME,...] [--begin SIZE] [--end SIZE] "
             "[--factor X] [--knobs] [--csv | --json | --markdown]",
    .more =
        "Each collective and size with its time, algorithm and bus bandwidth as simulated, and "
        "as measurements on healthy machines bound it: 9 of 10 reach busbw_least, half reach "
        "busbw_typical. 'import nccl-tests LOG --cluster NAME' compares a log with it and "
        "names faults that have such a curve. With --knobs: the times with half, a quarter or an "
        "eighth of the NICs, without GPUDirect RDMA, without PXN, with one queue pair; none is "
        "the healthy machine.",
    .options = options,
    .run = run,
};
