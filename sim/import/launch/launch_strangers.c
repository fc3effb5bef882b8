/*
 * launch_strangers.c - programs whose configs and commands are known and not read, so that a
 * refusal can name them.
 */
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_serving.h"

static const char not_simulated[] = "it is not simulated";
static const char yaml_alone[] = "give its YAML alone, and --gpus N";
static const char write_one[] = "write a scenario ('orrery new training'), and orrery check it";

static const struct {
  const char *name;
  const char *keys;  /* of a config, "a.b" lies deeper; any of them is enough */
  const char *words; /* parts of a command's words; any of them is enough */
  const char *remedy;
  gboolean is_on_trainer; /* takes the arguments of a trainer that is read, and its own */
  gboolean is_server;
} strangers[] = {
    {"AReaL", "", "areal.launcher", "give its YAML alone"},
    {"LitGPT", "train.lr_warmup_steps train.max_seq_length", "litgpt", write_one},
    {"lingua", "grad_acc_steps distributed.fsdp_type", "apps.main.train lingua", write_one},
    {"Levanter", "trainer.train_batch_size trainer.num_train_steps", "levanter", write_one},
    {"fms-fsdp", "", "main_training_llama.py main_training_mamba.py", write_one},
    {"ColossalAI", "", "colossalai", write_one},
    {"torchtune's program", "",
     "full_finetune_ lora_finetune_ full_dpo_ lora_dpo_ qat_distributed knowledge_distillation_",
     yaml_alone},
    {"Composer", "", "composer", yaml_alone},
    {"OpenRLHF", "", "openrlhf.cli.", "only its train_ppo_ray, train_sft and train_dpo are read"},
    {"verl's fine-tuning", "", "verl.trainer.fsdp_sft_trainer verl.trainer.sft_trainer",
     "only its main_ppo is read"},
    {"NeMo-RL's reward models and distillation",
     "rm.max_num_steps distillation.num_prompts_per_step", "run_rm.py run_distillation",
     "only its GRPO, SFT and DPO are read"},
    {"NeMo-RL's DPO", "", "run_dpo.py", "give its YAML alone"},
    {"Hugging Face TGI", "", "text-generation-launcher text-generation-inference",
     "it serves as vLLM 0.2 did; write a scenario ('orrery new serving')", .is_server = TRUE},
    {"llama.cpp", "", "llama-server llama-cli llama.cpp", not_simulated, .is_server = TRUE},
    {"Ollama", "", "ollama", not_simulated, .is_server = TRUE},
    {"LMDeploy", "", "lmdeploy", not_simulated, .is_server = TRUE},
    {"Triton", "", "tritonserver launch_triton_server", not_simulated, .is_server = TRUE},
    {"NVIDIA NIM", "", "nvcr.io/nim/", "write the line of the engine in it", .is_server = TRUE},
};

static gboolean has_key(const OrrNode *tree, const char *path) {
  g_auto(GStrv) keys = g_strsplit(path, ".", -1);
  for (char **key = keys; *key && tree; key++) tree = orr_node_get(tree, *key);
  return tree != NULL;
}

static gboolean has_any_key(const OrrNode *tree, const char *paths) {
  g_auto(GStrv) all = g_strsplit(paths, " ", -1);
  for (char **path = all; *path; path++)
    if (**path && has_key(tree, *path)) return TRUE;
  return FALSE;
}

char *orr_launch_strangers_config(const OrrNode *tree) {
  for (guint i = 0; i < G_N_ELEMENTS(strangers); i++)
    if (has_any_key(tree, strangers[i].keys))
      return g_strdup_printf("a config of %s, which is not read: %s", strangers[i].name,
                             strangers[i].remedy);
  return NULL;
}

gboolean orr_launch_strangers_is_likely(const char *text) {
  for (guint i = 0; i < G_N_ELEMENTS(strangers); i++) {
    g_auto(GStrv) all = g_strsplit(strangers[i].keys, " ", -1);
    for (char **path = all; *path; path++) {
      const char *dot = strrchr(*path, '.');
      if (**path && strstr(text, dot ? dot + 1 : *path)) return TRUE;
    }
  }
  return FALSE;
}

static gboolean has_any_part(const char *text, const char *parts) {
  g_auto(GStrv) all = g_strsplit(parts, " ", -1);
  for (char **part = all; *part; part++)
    if (**part && strstr(text, *part)) return TRUE;
  return FALSE;
}

static gboolean has_any_word(const OrrLaunchCommand *command, const char *parts) {
  for (guint i = 0; i < command->words->len; i++)
    if (has_any_part(orr_launch_server_word(command, i), parts)) return TRUE;
  return FALSE;
}

char *orr_launch_strangers_command(const OrrLaunchCommand *command, gboolean is_trainer) {
  for (guint i = 0; i < G_N_ELEMENTS(strangers); i++)
    if ((!is_trainer || strangers[i].is_on_trainer) && has_any_word(command, strangers[i].words))
      return g_strdup_printf("a command of %s, which is not read: %s", strangers[i].name,
                             strangers[i].remedy);
  return NULL;
}

/* --- Servers and benchmarks next to commands that are read --- */

/* The part of a command that says which program runs: "lmdeploy", "serve". */
typedef struct {
  const char *first, *second; /* "": none */
  gboolean is_container;
} Program;

static gboolean is_one_of(const char *text, const char *words) {
  g_auto(GStrv) all = g_strsplit(words, " ", -1);
  return g_strv_contains((const char *const *)all, text);
}

/* FALSE: word @i is an option, a value of one, an assignment, an address or a number. */
static gboolean may_name(const OrrLaunchCommand *command, guint i) {
  const char *text = orr_launch_server_word(command, i);
  const char *before = i > 0 ? orr_launch_server_word(command, i - 1) : "";
  if (text[0] == '-' || strchr(text, '=') || strstr(text, "://") || g_ascii_isdigit(text[0]))
    return FALSE;
  return before[0] != '-' || strcmp(before, "-m") == 0;
}

static Program program_of(const OrrLaunchCommand *command) {
  static const char runners[] = "nohup sudo env exec time setsid timeout numactl taskset srun "
                                "mpirun nsys bash sh python python3 uv poetry docker podman "
                                "nerdctl run";
  Program program = {"", "", FALSE};
  for (guint i = 0; i < command->words->len; i++) {
    const char *text = orr_launch_server_word(command, i);
    if (i > 0 && strcmp(text, "run") == 0 &&
        is_one_of(orr_launch_server_word(command, i - 1), "docker podman nerdctl"))
      program.is_container = TRUE;
    if (!may_name(command, i) || is_one_of(text, runners)) continue;
    if (*program.first) {
      program.second = strpbrk(text, "/.:$") ? "" : text;
      return program;
    }
    program.first = text;
  }
  return program;
}

/* What manages files, packages and processes starts no server, whatever it names. */
static gboolean is_errand(const Program *program) {
  return is_one_of(program->first, "echo printf curl wget cat grep kill pkill sleep wait cd mkdir "
                                   "rm cp mv tail tee test apt apt-get pip pip3 git which") ||
         is_one_of(program->second, "install uninstall pull stop rm logs login");
}

/* Whether a word of the program's name, "benchmark_serving_multi_turn.py", is one of @words, or
 * begins so where that ends with a star. */
static gboolean has_part_of_name(const char *name, const char *words) {
  g_autofree char *base = g_path_get_basename(name);
  g_autofree char *lower = g_ascii_strdown(base, -1);
  g_auto(GStrv) parts = g_strsplit_set(lower, "._-:", -1);
  g_auto(GStrv) all = g_strsplit(words, " ", -1);
  for (char **part = parts; *part; part++)
    for (char **word = all; *word; word++)
      if (g_pattern_match_simple(*word, *part)) return TRUE;
  return FALSE;
}

static gboolean is_client(const Program *program) {
  static const char names[] = "bench* evalscope locust k6 llmperf wrk vegeta";
  return has_part_of_name(program->first, names) || has_part_of_name(program->second, "bench*");
}

static gboolean has_option(const OrrLaunchCommand *command, const char *pattern) {
  for (guint i = 0; i < command->words->len; i++)
    if (g_pattern_match_simple(pattern, orr_launch_server_word(command, i))) return TRUE;
  return FALSE;
}

/* A program by whose name or options it could be the server that a benchmark asks. */
static gboolean is_like_server(const OrrLaunchCommand *command, const Program *program) {
  static const char names[] = "serve server *server launcher";
  static const char others[] = "wait* kill* stop* check* health* test*";
  if (is_client(program) || has_part_of_name(program->first, others)) return FALSE;
  if (program->is_container) return has_option(command, "-p") || has_option(command, "--publish*");
  return has_part_of_name(program->first, names) || has_part_of_name(program->second, names) ||
         (has_option(command, "--port*") && has_option(command, "--model*"));
}

/* The row of the table that @command's program is; -1: none. */
static int known_server(const OrrLaunchCommand *command, const Program *program) {
  for (guint i = 0; i < G_N_ELEMENTS(strangers); i++) {
    const char *words = strangers[i].words;
    if (strangers[i].is_server && ((command->image && has_any_part(command->image, words)) ||
                                   (program->is_container ? has_any_word(command, words)
                                                          : has_any_part(program->first, words))))
      return (int)i;
  }
  return -1;
}

/* Whether another FILE is what @command runs, or reads. */
static gboolean is_given(OrrLaunchDraft *draft, const OrrLaunchCommand *command) {
  for (guint i = 0; i < command->words->len; i++)
    if (orr_launch_form_source(draft, orr_launch_server_word(command, i))) return TRUE;
  return FALSE;
}

static gboolean has_engine(const GPtrArray *commands) {
  OrrServerCommand found;
  ORR_EACH_POINTER(const OrrLaunchCommand, command, commands)
    if (orr_launch_server_recognise(command, &found) && found.dialect->stack) return TRUE;
  return FALSE;
}

/* Says of @command, which nobody reads, what is missing without it. */
static void judge_unread(OrrLaunchDraft *draft, const OrrLaunchCommand *command,
                         gboolean with_engine) {
  const Program program = program_of(command);
  const OrrPlace place = command->words->len > 0
                             ? ((const OrrLaunchWord *)command->words->pdata[0])->place
                             : command->image_place;
  const int row = known_server(command, &program);
  g_autofree char *words =
      g_strjoin(*program.second ? " " : "", program.first, program.second, NULL);
  const char *name = command->image ? command->image : words;
  if (is_errand(&program) || is_given(draft, command)) return;
  if (!with_engine && (row >= 0 || is_like_server(command, &program)))
    orr_diags_error(
        draft->diags, place, "%s is not read, and the benchmark's server would be assumed: %s",
        name, row >= 0 ? strangers[row].remedy : "give the line of the engine that it starts");
  else if (row >= 0)
    orr_launch_draft_remark(draft, "line %d: %s is not read: the scenario does not have it",
                            place.line, name);
  else if (is_client(&program))
    orr_launch_draft_remark(draft, "line %d: %s is not read: the scenario does not have its load",
                            place.line, name);
}

gboolean orr_launch_strangers_refuse(OrrLaunchDraft *draft, const GPtrArray *commands,
                                     const GPtrArray *read) {
  const guint n_errors = orr_diags_n_errors(draft->diags);
  const gboolean with_engine = has_engine(read);
  ORR_EACH_POINTER(const OrrLaunchCommand, command, commands)
    if ((command->words->len > 0 || command->image) && !orr_launch_server_knows(command))
      judge_unread(draft, command, with_engine);
  return orr_diags_n_errors(draft->diags) > n_errors;
}
