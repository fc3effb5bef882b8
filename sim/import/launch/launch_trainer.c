/*
 * launch_trainer.c - which script a command starts, by which launcher, on how many GPUs.
 */
#include "sim/import/launch/launch_trainer.h"

/* To add one: see launch_trainer.h. The last whose `knows` is not NULL may take what no name
 * tells. */
static const OrrLaunchTrainer *const trainers[] = {
    &orr_trainer_verl,         &orr_trainer_nemo_rl,
    &orr_trainer_openrlhf,     &orr_trainer_openrlhf_sft,
    &orr_trainer_slime,        &orr_trainer_megatron_grpo,
    &orr_trainer_trl_grpo,     &orr_trainer_maxtext,
    &orr_trainer_bridge,       &orr_trainer_megatron_swift,
    &orr_trainer_megatron,     &orr_trainer_torchtitan,
    &orr_trainer_transformers, NULL};

/* A launcher by the words that begin it; its options precede the script. */
static const struct {
  const char *first, *second; /* second: NULL, or the next word */
  const OrrLaunchDialect *dialect;
} launchers[] = {
    {"torchrun", NULL, &orr_dialect_torchrun},
    {"torch.distributed.run", NULL, &orr_dialect_torchrun},
    {"torch.distributed.launch", NULL, &orr_dialect_torchrun},
    {"accelerate", "launch", &orr_dialect_accelerate},
    {"deepspeed", NULL, &orr_dialect_deepspeed_launcher},
};

static const char *text_at(const OrrLaunchCommand *command, guint i) {
  return i < command->words->len ? ((const OrrLaunchWord *)command->words->pdata[i])->text : "";
}

static gboolean is_script(const char *text) {
  return (g_str_has_suffix(text, ".py") || g_str_has_suffix(text, "run_train.sh")) &&
         text[0] != '-';
}

/* The word after the launcher that begins at @i, with its dialect; 0: none begins there. */
static guint launcher_end(const OrrLaunchCommand *command, guint i,
                          const OrrLaunchDialect **ret_dialect) {
  g_autofree char *base = g_path_get_basename(text_at(command, i));
  for (guint k = 0; k < G_N_ELEMENTS(launchers); k++) {
    const char *second = launchers[k].second;
    if (strcmp(base, launchers[k].first) != 0) continue;
    if (second && strcmp(text_at(command, i + 1), second) != 0) continue;
    *ret_dialect = launchers[k].dialect;
    return i + (second ? 2 : 1);
  }
  return 0;
}

/* The module or script of "python [-u] -m MODULE" or "python SCRIPT" at @i; 0: none. */
static guint python_script(const OrrLaunchCommand *command, guint i) {
  g_autofree char *base = g_path_get_basename(text_at(command, i));
  if (!g_str_has_prefix(base, "python")) return 0;
  for (i++; i < command->words->len; i++) {
    const char *text = text_at(command, i);
    if (strcmp(text, "-m") == 0) return i + 1;
    if (text[0] != '-') return i;
  }
  return 0;
}

static gboolean names(const OrrLaunchTrainer *trainer, const OrrLaunchCommand *command,
                      guint script) {
  g_autofree char *base = g_path_get_basename(text_at(command, script));
  g_autofree char *program = g_path_get_basename(script ? text_at(command, script - 1) : "");
  g_autofree char *both = g_strconcat(program, ":", base, NULL);
  g_auto(GStrv) patterns = g_strsplit(trainer->scripts ? trainer->scripts : "", " ", -1);
  for (char **pattern = patterns; *pattern; pattern++)
    if (g_pattern_match_simple(*pattern, strchr(*pattern, ':') ? both : base)) return TRUE;
  return FALSE;
}

static const OrrLaunchTrainer *trainer_of(const OrrLaunchCommand *command, guint script) {
  if (script >= command->words->len) return NULL; /* "python3 -m" */
  for (const OrrLaunchTrainer *const *trainer = trainers; *trainer; trainer++)
    if (names(*trainer, command, script)) return *trainer;
  for (const OrrLaunchTrainer *const *trainer = trainers; *trainer; trainer++)
    if ((*trainer)->knows && (*trainer)->knows(command, script)) return *trainer;
  return NULL;
}

/* Programs whose next word names the script: "trl sft ...", "swift rlhf ...". 0: another. */
static guint program_script(const OrrLaunchCommand *command) {
  static const char *const programs[][2] = {
      {"trl", NULL},        {"swift", "sft pt rlhf"},      {"megatron", "sft pt rlhf"},
      {"axolotl", "train"}, {"llamafactory-cli", "train"}, {"lmf", "train"}};
  for (guint i = 0; i + 1 < command->words->len; i++) {
    g_autofree char *base = g_path_get_basename(text_at(command, i));
    for (guint k = 0; k < G_N_ELEMENTS(programs); k++) {
      g_auto(GStrv) words = g_strsplit(programs[k][1] ? programs[k][1] : "", " ", -1);
      const char *next = text_at(command, i + 1);
      const gboolean is_one =
          programs[k][1] ? g_strv_contains((const char *const *)words, next) : next[0] != '-';
      if (strcmp(base, programs[k][0]) == 0 && is_one) return i + 1;
    }
  }
  return 0;
}

/* Where the command begins that a scheduler's script starts: "python mason.py --gpus 8 -- torchrun
 * train.py ..."; 0: there is none. */
static guint wrapped_command(const OrrLaunchCommand *command) {
  for (guint i = 1; i + 1 < command->words->len; i++) {
    const OrrLaunchDialect *dialect = NULL;
    if (strcmp(text_at(command, i), "--") == 0 &&
        (launcher_end(command, i + 1, &dialect) || python_script(command, i + 1)))
      return i + 1;
  }
  return 0;
}

/* The last script or module in the command: what stands in front starts it. 0: none. */
static guint script_of(const OrrLaunchCommand *command) {
  guint found = program_script(command);
  const guint first = wrapped_command(command);
  for (guint i = first; i < command->words->len && !found; i++) {
    const OrrLaunchDialect *dialect = NULL;
    const guint python = python_script(command, i);
    if (python && !launcher_end(command, python, &dialect)) found = python;
    if (!found && is_script(text_at(command, i))) found = i;
  }
  for (guint i = 0; i < command->words->len && !found; i++) {
    const gboolean is_module =
        strcmp(text_at(command, i), "-m") == 0 || strcmp(text_at(command, i), "--module") == 0;
    const OrrLaunchDialect *dialect = NULL;
    if (is_module && !launcher_end(command, i + 1, &dialect)) found = i + 1;
  }
  return found;
}

gboolean orr_launch_trainer_knows(const OrrLaunchCommand *command) {
  const guint script = script_of(command);
  return script > 0 && trainer_of(command, script) != NULL;
}

/* --- Reading --- */

/* The options of the launcher at @i, up to the script. */
static void read_launcher(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  for (guint i = 0; i < script; i++) {
    const OrrLaunchDialect *dialect = NULL;
    const guint first = launcher_end(command, i, &dialect);
    if (!first) continue;
    g_autoptr(GPtrArray) options = g_ptr_array_new();
    for (guint k = first; k < script; k++) g_ptr_array_add(options, command->words->pdata[k]);
    orr_launch_argv(draft, dialect, options, 0, NULL);
    if (dialect->is_one_node && draft->nodes < 1 &&
        !orr_launch_draft_find(draft, dialect, "nnodes") &&
        orr_launch_draft_find(draft, dialect, "nproc-per-node"))
      orr_launch_draft_set_nodes(draft, 1, "1 node, the launcher's default");
    return;
  }
}

/* Without a launcher, each task of srun is a process with a GPU of its own. One task per node may
 * start the others itself. */
static void count_tasks(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  const OrrLaunchDialect *launcher = NULL;
  const gint64 tasks = draft->tasks, own = draft->gpus_per_node;
  for (guint i = 0; i < script; i++)
    if (launcher_end(command, i, &launcher)) return;
  if (draft->nodes < 1 && tasks > 0)
    orr_launch_draft_set_nodes(draft, own > 0 && tasks % own == 0 ? tasks / own : 1, "-n of srun");
  const gint64 nodes = MAX(draft->nodes, 1);
  const gint64 each = tasks > 0 && tasks % nodes == 0 ? tasks / nodes : draft->tasks_per_node;
  if (each > 1 && (draft->gpus_per_node < 1 || each < draft->gpus_per_node))
    orr_launch_draft_set_gpus_per_node(draft, each, "tasks of srun");
}

/* Launchers of MPI, whose -N is the number of processes on each node (Open MPI, aprun). */
static gboolean starts_mpi(const OrrLaunchCommand *command, guint i) {
  static const char *const names[] = {"mpirun", "mpiexec", "orterun", "aprun", NULL};
  g_autofree char *base = g_path_get_basename(text_at(command, i));
  return g_strv_contains(names, base);
}

/* srun -N 4 -n 32 --gpus-per-node 8 */
static void read_scheduler(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  static const char *const options[] = {
      "-N", "--nodes", "--gpus-per-node", "--ntasks-per-node", "--ntasks", "-n"};
  gboolean is_srun = FALSE;
  for (guint i = 0; i < script && !starts_mpi(command, i); i++) {
    const char *text = text_at(command, i);
    is_srun = is_srun || strcmp(text, "srun") == 0;
    for (guint k = 0; k < G_N_ELEMENTS(options); k++) {
      const gsize n = strlen(options[k]);
      if (strncmp(text, options[k], n) != 0 || (text[n] && text[n] != '=')) continue;
      const gint64 value =
          g_ascii_strtoll(text[n] ? text + n + 1 : text_at(command, i + 1), NULL, 10);
      if (value < 1 || (k >= 4 && !is_srun)) continue;
      if (k < 2) orr_launch_draft_set_nodes(draft, value, options[k]);
      if (k == 2 || k == 3) orr_launch_draft_set_gpus_per_node(draft, value, options[k]);
      if (k == 3) draft->tasks_per_node = value;
      if (k >= 4) draft->tasks = value;
    }
  }
  if (is_srun) count_tasks(draft, command, script);
}

/* Processes on each host of "a:4,b:4"; 0: they differ, or the text does not say it. */
static gint64 slots_of(const char *hosts) {
  g_auto(GStrv) all = g_strsplit(hosts, ",", -1);
  gint64 each = 0;
  for (guint i = 0; all[i]; i++) {
    const char *colon = strrchr(all[i], ':');
    const gint64 slots = colon ? g_ascii_strtoll(colon + 1, NULL, 10) : 0;
    if (slots < 1 || (i > 0 && slots != each)) return 0;
    each = slots;
  }
  return each;
}

/* Processes on each node by option @i of an MPI launcher: Open MPI's -N, -npernode, --map-by
 * ppr:4:node and -H a:4,b:4, MPICH's -ppn and -perhost; 0: it is another option. */
static gint64 each_by(const OrrLaunchCommand *command, guint i) {
  static const char *const counts[] = {"-N",    "-npernode", "--npernode", "-ppn",
                                       "--ppn", "-perhost",  NULL};
  static const char *const maps[] = {"-map-by", "--map-by", NULL}, *const hosts[] = {
                                                                       "-H", "-host", "--host",
                                                                       "-hosts", NULL};
  const char *option = text_at(command, i), *value = text_at(command, i + 1);
  if (g_strv_contains(counts, option)) return g_ascii_strtoll(value, NULL, 10);
  if (g_strv_contains(hosts, option)) return slots_of(value);
  const char *end = strstr(value, ":node");
  return g_strv_contains(maps, option) && g_str_has_prefix(value, "ppr:") && end
             ? g_ascii_strtoll(value + 4, NULL, 10)
             : 0;
}

/* mpirun -np 16 -npernode 4: a process on each GPU, where nothing says on which nodes. */
static void read_mpi(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  static const char *const options[] = {"-np", "--np", "-n", NULL};
  const char *from = NULL;
  gint64 all = 0, each = 0;
  guint i = 0;
  while (i < script && !starts_mpi(command, i)) i++;
  for (i++; i < script; i++) {
    const gint64 n = g_strv_contains(options, text_at(command, i))
                         ? g_ascii_strtoll(text_at(command, i + 1), NULL, 10)
                         : 0;
    const gint64 here = each_by(command, i);
    if (n > 0 && n <= 1 << 22 && all == 0) {
      all = n;
      from = text_at(command, i);
    }
    if (here > 0 && here <= 1 << 22) each = here;
  }
  if (all < 1 || draft->nodes * draft->gpus_per_node > 0) return;
  const gboolean is_even = each > 0 && all % each == 0;
  orr_launch_draft_set_nodes(draft, is_even ? all / each : 1, from);
  orr_launch_draft_set_gpus_per_node(draft, is_even ? each : all, NULL);
}

/* WORLD_SIZE=32 python train.py: that many processes, each with a GPU, where no launcher starts
 * them and nothing says on which nodes (PyTorch's env://). */
static void read_world(OrrLaunchDraft *draft, const OrrLaunchCommand *command, guint script) {
  const OrrLaunchDialect *launcher = NULL;
  for (guint i = 0; i < script; i++)
    if (launcher_end(command, i, &launcher)) return;
  if (!command->environment || draft->nodes * draft->gpus_per_node > 0) return;
  ORR_EACH_POINTER(const OrrLaunchWord, word, command->environment) {
    const gint64 n = g_str_has_prefix(word->text, "WORLD_SIZE=")
                         ? g_ascii_strtoll(strchr(word->text, '=') + 1, NULL, 10)
                         : 0;
    if (n < 1 || n > 1 << 22) continue;
    orr_launch_draft_set_nodes(draft, 1, "WORLD_SIZE");
    orr_launch_draft_set_gpus_per_node(draft, n, "WORLD_SIZE");
  }
}

/* The GPUs that CUDA_VISIBLE_DEVICES lists, where nothing else counts them; @starts_torchrun: by
 * NNODES and NPROC_PER_NODE, as ms-swift and LLaMA-Factory do. */
static void read_processes(OrrLaunchDraft *draft, const OrrLaunchCommand *command,
                           gboolean starts_torchrun) {
  gint64 nodes = 0, per_node = 0, visible = 0;
  for (guint i = 0; command->environment && i < command->environment->len; i++) {
    const char *text = ((const OrrLaunchWord *)command->environment->pdata[i])->text;
    const char *value = strchr(text, '=') ? strchr(text, '=') + 1 : "";
    const gint64 number = starts_torchrun ? g_ascii_strtoll(value, NULL, 10) : 0;
    if (g_str_has_prefix(text, "NNODES=")) nodes = number;
    if (g_str_has_prefix(text, "NPROC_PER_NODE=")) per_node = number;
    if (!g_str_has_prefix(text, "CUDA_VISIBLE_DEVICES=")) continue;
    g_auto(GStrv) devices = g_strsplit(value, ",", -1);
    visible = g_ascii_isdigit(*value) ? (gint64)g_strv_length(devices) : 0;
  }
  if (per_node < 1) per_node = visible;
  if (draft->gpus_per_node > 0) return;
  if (nodes > 0 || (per_node > 0 && draft->nodes < 1))
    orr_launch_draft_set_nodes(draft, CLAMP(nodes, 1, 1 << 20), nodes > 0 ? "NNODES" : NULL);
  if (per_node > 0 && per_node <= 1024)
    orr_launch_draft_set_gpus_per_node(
        draft, per_node, per_node == visible ? "CUDA_VISIBLE_DEVICES" : "NPROC_PER_NODE");
}

static char *shown(const OrrLaunchCommand *command) {
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < command->words->len && text->len < 80; i++)
    g_string_append_printf(text, "%s%s", i ? " " : "", text_at(command, i));
  return g_strdup_printf("%.90s%s", text->str, text->len > 90 ? "..." : "");
}

/* The words from the launcher on, but the node's number: equal where commands start one job on
 * several nodes. Newly allocated. */
static char *job_of(const OrrLaunchCommand *command) {
  static const char *const ranks[] = {"--node_rank", "--node-rank", "--machine_rank",
                                      "--machine-rank", NULL};
  const OrrLaunchDialect *dialect = NULL;
  guint i = 0;
  while (i < command->words->len && !launcher_end(command, i, &dialect)) i++;
  GString *text = g_string_new(NULL);
  for (i = dialect ? i : 0; i < command->words->len; i++) {
    g_autofree char *key = g_strndup(text_at(command, i), strcspn(text_at(command, i), "="));
    const gboolean is_rank = g_strv_contains(ranks, key);
    if (!is_rank) g_string_append_printf(text, "%s\n", text_at(command, i));
    i += is_rank && !strchr(text_at(command, i), '=');
  }
  return g_string_free(text, FALSE);
}

static gboolean are_one_job(const GPtrArray *commands) {
  g_autofree char *first = job_of(commands->pdata[0]);
  for (guint i = 1; i < commands->len; i++) {
    g_autofree char *other = job_of(commands->pdata[i]);
    if (strcmp(first, other) != 0) return FALSE;
  }
  return TRUE;
}

static const OrrLaunchCommand *choose(OrrLaunchDraft *draft, const GPtrArray *commands) {
  const gint64 choice = orr_launch_draft_options(draft)->choice;
  const OrrLaunchCommand *first = commands->pdata[0];
  if (choice == 0 && (commands->len == 1 || are_one_job(commands))) return first;
  if (choice >= 1 && choice <= commands->len) return commands->pdata[choice - 1];
  const OrrLaunchWord *word = first->words->pdata[0];
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < commands->len; i++) {
    g_autofree char *line = shown(commands->pdata[i]);
    const OrrLaunchCommand *command = commands->pdata[i];
    g_string_append_printf(text, "; %u (line %d): %s", i + 1,
                           ((const OrrLaunchWord *)command->words->pdata[0])->place.line, line);
  }
  orr_diags_error(orr_launch_draft_diags(draft), word->place, "%s%s",
                  choice == 0 ? "several launch lines: add --choose N"
                              : "--choose takes one of the launch lines",
                  text->str);
  return NULL;
}

/* NCCL's variables, and PyTorch's allocator's. */
static void read_environment(OrrLaunchDraft *draft, const OrrLaunchCommand *command) {
  static const char *const prefixes[] = {"NCCL_", "RCCL_",  "PYTORCH_",     "CUDA_",
                                         "NVTE_", "TORCH_", "TORCHDYNAMO_", "FI_",
                                         "OFI_",  "UCX_",   "UB_",          "GPU_MAX_"};
  ORR_EACH_POINTER(const OrrLaunchWord, word, command->environment) {
    const char *equals = strchr(word->text, '=');
    g_autofree char *key = equals ? g_strndup(word->text, (gsize)(equals - word->text)) : NULL;
    for (guint k = 0; key && k < G_N_ELEMENTS(prefixes); k++)
      if (g_str_has_prefix(key, prefixes[k]))
        orr_launch_draft_add(draft, &orr_dialect_training_environment, key, equals + 1,
                             word->place);
  }
}

/* Whether Megatron's options list the kinds of layers. */
static gboolean has_pattern(const OrrLaunchCommand *command) {
  for (guint i = 0; i < command->words->len; i++)
    if (g_str_has_prefix(text_at(command, i), "--hybrid-override-pattern") ||
        g_str_has_prefix(text_at(command, i), "--hybrid-layer-pattern"))
      return TRUE;
  return FALSE;
}

gboolean orr_launch_trainer_refuse(OrrLaunchDraft *draft, const OrrLaunchCommand *command) {
  const guint script = script_of(command);
  gboolean by_model = FALSE;
  const OrrLaunchTrainer *trainer = script ? trainer_of(command, script) : NULL;
  if (trainer && (trainer->rolls_out || trainer->is_named)) return FALSE;
  if (trainer && trainer->takes_pairs && orr_launch_scripts_pairs(text_at(command, script)))
    return FALSE;
  const char *what = script ? orr_launch_scripts_other(text_at(command, script), &by_model) : NULL;
  if (!what || (by_model && (draft->options->model || has_pattern(command)))) return FALSE;
  orr_diags_error(draft->diags, ((const OrrLaunchWord *)command->words->pdata[script])->place,
                  "'%s' trains %s%s", text_at(command, script), what,
                  by_model ? ": add --model NAME" : "");
  return TRUE;
}

/* NVIDIA's NeMo images hold a Megatron-Core, whose stacks have the images' numbers:
 * nvcr.io/nvidia/nemo:25.04, with '#' after the registry for Pyxis. */
static void read_image(OrrLaunchDraft *draft, const char *text) {
  static const char image[] = "nvidia/nemo:";
  const char *tag = text ? strstr(text, image) : NULL;
  if (!tag || !g_ascii_isdigit(tag[strlen(image)])) return;
  tag += strlen(image);
  g_autofree char *release = g_strndup(tag, strspn(tag, "0123456789."));
  if (g_str_has_suffix(release, ".")) release[strlen(release) - 1] = '\0'; /* 25.04.rc2 */
  draft->release = g_intern_string(release);
}

void orr_launch_trainer_read(OrrLaunchDraft *draft, const GPtrArray *commands) {
  const OrrLaunchCommand *command = choose(draft, commands);
  if (!command || orr_launch_trainer_refuse(draft, command)) return;
  read_environment(draft, command);
  const guint script = script_of(command);
  const OrrLaunchTrainer *trainer = trainer_of(command, script);
  orr_launch_form_read_configs(draft, trainer->claims); /* what the line says overrides them */
  read_image(draft, command->image);
  read_image(draft, command->around);
  for (guint i = 0; i < script; i++) read_image(draft, text_at(command, i));
  read_scheduler(draft, command, script);
  read_mpi(draft, command, script);
  read_world(draft, command, script);
  read_processes(draft, command, program_script(command) > 0);
  read_launcher(draft, command, script);
  trainer->read(draft, command, script);
}

void orr_launch_trainer_hand_on(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                const OrrLaunchCommand *command, guint script) {
  g_autofree char *program = g_path_get_basename(script ? text_at(command, script - 1) : "");
  if (strcmp(program, "trl") != 0) return;
  ORR_EACH_POINTER(OrrLaunchSetting, setting, draft->settings) {
    const OrrLaunchRule *rule = orr_launch_rule_find(dialect, setting->key);
    const gboolean is_own = rule && strcmp(rule->keys, "*") != 0;
    if (setting->dialect == dialect && !is_own &&
        orr_launch_rule_find(&orr_dialect_accelerate, setting->key))
      setting->dialect = &orr_dialect_accelerate;
  }
}

void orr_launch_trainer_verl_groups(OrrLaunchDraft *draft) {
  static const char kind[] = "workload.update.optimizer.sharding.kind";
  const OrrLaunchDialect *own = &orr_dialect_verl;
  const OrrLaunchSetting *size =
      orr_launch_draft_find(draft, own, "actor-rollout-ref.actor.fsdp-config.fsdp-size");
  const gint64 group = size ? orr_launch_draft_int(draft, own, size->key, -1) : -1;
  const gint64 gpus =
      CLAMP(orr_launch_draft_int(draft, own, "trainer.nnodes", 1), 1, 1 << 20) *
      CLAMP(orr_launch_draft_int(draft, own, "trainer.n-gpus-per-node", 8), 1, 1 << 20);
  if (group < 2 || group >= gpus || strcmp(orr_launch_draft_get(draft, kind), "fsdp") != 0) return;
  orr_launch_draft_set(draft, kind, "hsdp", size, NULL);
  orr_launch_draft_set_number(draft, "workload.update.optimizer.sharding.group", group, size, NULL);
}
