/*
 * verb_new.c - orrery new KIND: a commented document to begin with.
 *
 * With --from, the document lies on another one: every value of that one follows as a comment, to
 * be uncommented where yours differs. Without, a scenario or sweep that runs, with every other key
 * of its workload, its default and what it means as comments.
 */
#include "sim/base/paths.h"
#include "sim/base/number.h"
#include "sim/base/yaml.h"
#include "sim/cli/documents.h"
#include "sim/run/scenario_stack.h"
#include "workloads/workload.h"

static char *from, *name, *workload;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("from", from, "NAME", "The document that is most like yours"),
    ORR_OPTION_TEXT("name", name, "NAME", "Its name (default: mine)"),
    ORR_OPTION_TEXT("workload", workload, "KIND",
                    "Of a scenario: training (default), campaign, cluster, collectives, "
                    "post-training or serving"),
    ORR_OPTION_OUTPUT("Write to FILE, which must not exist, instead of stdout"),
    {NULL},
};

static const char *const kinds[] = {"cluster",  "device", "model", "prices", "profile",
                                    "scenario", "stack",  "sweep", NULL};

/* --- A document on another one --- */

static void add_comments(GString *out, const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line; line++)
    if (**line) g_string_append_printf(out, "# %s\n", *line);
}

/* A stack is named after its family and release: its lines of both. */
static char *name_of(const char *kind, OrrNode *tree) {
  if (strcmp(kind, "stack") != 0) return g_strdup(name);
  g_autofree char *family = g_strdup(orr_node_get_text(tree, "family"));
  g_autofree char *release = g_strdup(orr_node_get_text(tree, "release"));
  orr_node_remove(tree, "family");
  return g_strdup_printf("%s-%s-%s\nfamily: %s-%s", family, name, release, family, name);
}

static char *lie_on(OrrLibrary *library, const char *kind, GError **error) {
  const OrrDocumentCode *code = orr_documents_find(kind);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_library_load(library, kind, from, (OrrPlace){0}, diags);
  if (!code || !tree) {
    orr_diags_check(diags, error);
    return NULL;
  }
  static const char *const own[] = {"schema", "name", "question", "aliases", "sweep"};
  for (guint i = 0; i < G_N_ELEMENTS(own); i++) orr_node_remove(tree, own[i]);
  g_autofree char *own_name = name_of(kind, tree);
  g_autofree char *values = orr_yaml_text(tree);
  GString *out = g_string_new(NULL);
  g_string_append_printf(
      out,
      "# %s under a name of your own. What follows are its values: remove '# ' where yours\n"
      "# differ, from the keys above them, too. 'orrery check' finds mistakes.\n"
      "schema: %s/1\nname: %s\nbase: %s\n",
      from, kind, own_name, from);
  add_comments(out, values);
  return g_string_free(out, FALSE);
}

/* --- A scenario --- */

/* A word of --workload, and its kind of workload: a campaign is weeks of a training. STACK stands
 * for the stack of a workload that names none. */
static const struct {
  const char *workload, *kind, *text;
} starters[] = {
    {"campaign", "training",
     "question: How much of 30 days is useful work?\n"
     "cluster:\n"
     "  base: dgx-h100-superpod  # orrery list clusters\n"
     "  nodes: 32\n"
     "  storage: {servers: 16, server-bandwidth: 5 GB/s, node-bandwidth: 5 GB/s}\n"
     "model: llama-3.1-8b  # orrery list models; a file: ./mine.yaml\n"
     "campaign:\n"
     "  duration: 30 d\n"
     "  seeds: 20\n"
     "  failures: llama-3-54-days  # orrery list failures\n"
     "  policy: restart\n"
     "  spares: 1  # nodes\n"
     "  repair: 1 d\n"
     "  checkpoints: [{tier: storage, interval: 30 min, keep: 10}]  # or host, peer, ssd\n"
     "  detection:  # how long a failure goes unnoticed, by the failures' symptoms\n"
     "    - {symptom: crash, after: 40 s}\n"
     "    - {symptom: hang, after: 10 min}\n"
     "    - {symptom: silent-corruption, after: 2 h}\n"
     "  recovery: {requeue: 5 min, restart: 1 min, initialise: 30 s}\n"
     "workload:\n"
     "  kind: training\n"
     "  stack: STACK  # orrery list stacks; none: kernels and links alone\n"
     "  parallel: {tp: 2, pp: 1}  # the rest of the GPUs are data parallel\n"
     "  batch: {global: 512, micro: 1}  # sequences of a step, and of a micro-batch\n"
     "  sequence: 8192\n"},
    {"cluster", "cluster",
     "question: How long do jobs wait on this cluster?\n"
     "cluster: {base: dgx-h100-superpod, nodes: 8}  # orrery list clusters\n"
     "workload:\n"
     "  kind: cluster\n"
     "  jobs: generate  # or a trace of yours: sacct's output, a CSV (docs/modelling/jobs.md)\n"
     "  generate: {n: 1000, load: 0.8, gpus: [1, 8, 16], weights: [70, 25, 5]}\n"
     "  policy: {order: fifo, blocked: wait, backfill: easy, placement: first-fit}\n"},
    {"post-training", "post-training",
     "question: Where does a step of GRPO spend its time?\n"
     "cluster: {base: dgx-h100-superpod, nodes: 4}  # orrery list clusters\n"
     "model: qwen3-8b  # orrery list models; a file: ./mine.yaml\n"
     "workload:\n"
     "  kind: post-training\n"
     "  stack: nemo-rl-0.6  # orrery list stacks\n"
     "  algorithm: grpo\n"
     "  prompts: 64\n"
     "  samples: 16  # responses of a prompt\n"
     "  prompt: {tokens: 500}\n"
     "  response: {kind: lognormal, tokens: 2000, sigma: 1, most: 3500}\n"
     "  rollout: {parallel: {tp: 1}, engine: {max-model-len: 4096}}\n"
     "  update: {parallel: {tp: 2}, batch: {global: 512}, sequence: 4096}\n"},
    {"training", "training",
     "question: How fast does it train, and does it fit?\n"
     "cluster: {base: dgx-h100-superpod, nodes: 4}  # orrery list clusters\n"
     "model: llama-3.1-8b  # orrery list models; a file: ./mine.yaml\n"
     "workload:\n"
     "  kind: training\n"
     "  stack: STACK  # orrery list stacks; none: kernels and links alone\n"
     "  parallel: {tp: 2, pp: 1}  # the rest of the GPUs are data parallel\n"
     "  batch: {global: 128, micro: 1}  # sequences of a step, and of a micro-batch\n"
     "  sequence: 8192\n"
     "  precision: bf16\n"
     "  recompute: none\n"},
    {"serving", "serving",
     "question: How fast does it answer?\n"
     "cluster: {base: dgx-h100-superpod, nodes: 1, gpus: 1}  # orrery list clusters\n"
     "model: llama-3.1-8b  # orrery list models; a file: ./mine.yaml\n"
     "workload:\n"
     "  kind: serving\n"
     "  stack: STACK  # orrery list stacks; none: kernels and links alone\n"
     "  parallel: {tp: 1}\n"
     "  load: {kind: poisson, rate: 8}  # orrery list loads\n"
     "  requests: 400\n"
     "  input: {tokens: 1024}\n"
     "  output: {tokens: 128}\n"
     "  slo: {ttft: 1 s, tpot: 30 ms}\n"},
    {"collectives", "collectives",
     "question: How long does an all-reduce take?\n"
     "cluster: {base: dgx-h100-superpod, nodes: 4}  # orrery list clusters\n"
     "workload:\n"
     "  kind: collectives\n"
     "  stack: STACK\n"
     "  collective: all-reduce  # orrery list collectives\n"
     "  begin: 1 MB\n"
     "  end: 1 GB\n"},
};

static const char sweep_text[] = "sweep:\n"
                                 "  axes:\n"
                                 "    tp: {powers-of: 2, to: 8}\n"
                                 "    micro-batch: [1, 2, 4]\n"
                                 "    recompute: [none, selective, full]\n"
                                 "  objective: maximize tokens_per_s  # orrery list sweep-names\n"
                                 "  prune: best\n";

enum { COLUMNS = 88 }; /* of a sentence */

static void add_wrapped(GString *out, const char *sentence) {
  for (gsize length; *sentence; sentence += length + strspn(sentence + length, " ")) {
    length = strlen(sentence);
    if (length > COLUMNS)
      for (length = COLUMNS; length > 1 && sentence[length] != ' ';) length--;
    g_string_append_printf(out, "  #     %.*s\n", (int)length, sentence);
  }
}

/* Keys that the starter does not set, with default and sentence. */
static void add_keys(GString *out, const OrrFieldTable *table, const char *starter) {
  g_string_append(out, "  # Everything else has a default:\n");
  for (guint i = 0; i < table->n_fields; i++) {
    const OrrField *field = &table->fields[i];
    g_autofree char *key = g_strdup_printf("\n  %s:", field->name);
    if (strstr(starter, key)) continue;
    g_string_append_printf(out, "  # %s:%s%s\n", field->name, field->fallback ? " " : "",
                           field->fallback ? field->fallback : "");
    add_wrapped(out, field->sentence);
  }
}

static char *start(OrrLibrary *library, const char *kind, GError **error) {
  const char *words[G_N_ELEMENTS(starters) + 1] = {NULL};
  for (guint i = 0; i < G_N_ELEMENTS(starters); i++) {
    words[i] = starters[i].workload;
    if (strcmp(starters[i].workload, workload) != 0) continue;
    const OrrEntry *entry = orr_registry_find(&orr_workload_registry, starters[i].kind);
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "schema: scenario/1\nname: %s\n%s", name, starters[i].text);
    add_keys(out, entry->params, starters[i].text);
    if (strcmp(kind, "sweep") == 0) g_string_append(out, sweep_text);
    g_autofree char *stack = orr_scenario_stack_default(library, starters[i].kind);
    g_string_replace(out, "STACK", stack ? stack : "none", 0);
    return g_string_free(out, FALSE);
  }
  orr_cli_unknown("workload", workload, words, error);
  return NULL;
}

static gboolean write_new(const char *text, GError **error) {
  if (orr_options.output && g_file_test(orr_options.output, G_FILE_TEST_IS_REGULAR))
    return orr_fault_set(error, ORR_FAULT_USAGE, "%s exists: new replaces no file",
                         orr_options.output);
  g_autofree char *placed = orr_relative_text(text, orr_options.output);
  return orr_show_document(placed, orr_options.output, error);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 1, 1, "new takes a kind, such as scenario or cluster", error))
    return 2;
  const char *kind = args[0];
  if (!g_strv_contains(kinds, kind)) return orr_cli_unknown("kind", kind, kinds, error);
  const gboolean is_scenario = strcmp(kind, "scenario") == 0 || strcmp(kind, "sweep") == 0;
  if (!name) name = g_strdup("mine");
  if (!workload) workload = g_strdup("training");
  if (!from && !is_scenario) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "new %s needs --from NAME: the one that is most like yours ('orrery list %s%s')",
                kind, kind, g_str_has_suffix(kind, "s") ? "" : "s");
    return 2;
  }
  g_autofree char *text =
      from ? lie_on(library, is_scenario ? "scenario" : kind, error) : start(library, kind, error);
  if (text && from && strcmp(kind, "sweep") == 0) {
    char *whole = g_strconcat(text, sweep_text, NULL);
    g_free(text);
    text = whole;
  }
  return text && write_new(text, error) ? 0 : 2;
}

const OrrCommand orr_verb_new = {
    .verb = "new",
    .group = "Import",
    .sentence = "Write a commented document to begin with.",
    .usage = "KIND [--from NAME] [--name NAME] [--workload KIND] [-o FILE]",
    .more =
        "KIND is cluster, device, model, prices, profile, scenario, stack or sweep. With --from "
        "the document lies on another one, whose values follow as comments; a scenario or sweep "
        "without it runs unchanged, and lists every other key of its workload with its default.",
    .options = options,
    .run = run,
};
