/*
 * form_shell.c - a shell script, a launch line, or a page of documentation with either.
 */
#include "sim/import/launch/launch_trainer.h"
#include "sim/import/launch/shell.h"

/* --- Recognising --- */

static const char *const endings[] = {".sh", ".bash", ".slurm", ".sbatch", ".sub", ".pbs"};
static const char *const signs[] = {
    "torchrun ",        "vllm serve",        "launch_server", "trtllm-serve",
    "deepspeed ",       "accelerate launch", "python ",       "python3 ",
    "vllm.entrypoints", "torch.distributed", "srun ",         "mpirun ",
    "docker run",       "sglang serve",      "vllm bench",    "bench_serving",
    "genai-perf ",      "aiperf ",           "#SBATCH",       "sglang.launch"};

/* A tree's first character, or its first key. */
static gboolean is_other(const char *text) {
  text += strspn(text, " \t\r\n");
  if (*text == '{' || g_str_has_prefix(text, "[\n") || g_str_has_prefix(text, "---")) return TRUE;
  return g_regex_match_simple("^(apiVersion|services|defaults|trainer|model|run):", text,
                              G_REGEX_MULTILINE, 0);
}

static int recognise(const OrrLaunchSource *source) {
  for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
    if (g_str_has_suffix(source->name, endings[i])) return 90;
  if (g_str_has_prefix(source->text, "#!")) return strstr(source->text, "sh\n") ? 90 : 0;
  if (is_other(source->text)) return 0;
  for (guint i = 0; i < G_N_ELEMENTS(signs); i++)
    if (strstr(source->text, signs[i])) return 60;
  return 0;
}

/* --- Cleaning --- */

/* Escape sequences of terminals, and other control characters, become blanks of the same width. */
static void drop_controls(char *text) {
  for (char *c = text; *c; c++) {
    if (*c == '\033' && c[1] == '[')
      for (; *c && !g_ascii_isalpha(*c); c++) *c = ' ';
    if (!*c) return;
    if ((guchar)*c < ' ' && !strchr("\n\t", *c)) *c = ' ';
  }
}

static void blank_line(char *line, gsize length) { memset(line, ' ', length); }

/* "$ command" and, behind a line that goes on, "> more" of a page: the prompt becomes blanks. A
 * script sends its output to a file by "> $LOG": such a line has no option, and none before it has
 * a prompt (@is_page). Whether this line has one. */
static gboolean drop_prompt(const char *text, char *line, gboolean is_page) {
  char *c = line + strspn(line, " \t");
  const gboolean goes_on = line - text >= 2 && line[-1] == '\n' && line[-2] == '\\';
  const gboolean is_second = *c == '>' && goes_on && (is_page || (c[1] && c[2] == '-'));
  if ((*c != '$' && *c != '%' && !is_second) || c[1] != ' ') return FALSE;
  *c = ' ';
  return TRUE;
}

/* Whether a fence with this word holds commands. */
static gboolean is_shell_fence(const char *word) {
  static const char *const words[] = {"", "bash", "sh", "shell", "console", "zsh", "text", NULL};
  g_autofree char *lower = g_ascii_strdown(word, -1);
  return g_strv_contains(words, g_strstrip(lower));
}

/* A page in Markdown: lines outside of fences of shell become blanks. */
static void keep_fences(char *text) {
  gboolean is_inside = FALSE, is_kept = FALSE;
  for (char *line = text; *line;) {
    const gsize length = strcspn(line, "\n");
    const gsize indent = strspn(line, " \t");
    if (strncmp(line + indent, "```", 3) == 0) {
      g_autofree char *word = g_strndup(line + indent + 3, length - indent - 3);
      is_inside = !is_inside;
      is_kept = is_inside && is_shell_fence(word);
      blank_line(line, length);
    } else if (!is_kept) {
      blank_line(line, length);
    }
    line += length + (line[length] == '\n');
  }
}

static char *cleaned(const OrrLaunchSource *source) {
  char *text = g_strdup(source->text);
  gboolean is_page = FALSE;
  drop_controls(text);
  if (strstr(text, "```")) keep_fences(text);
  for (char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
    is_page = drop_prompt(text, line, is_page);
  return text;
}

/* --- Reading --- */

/* The first word behind the first that is a script or a module's name; NULL. */
static const OrrLaunchWord *script_word(const OrrLaunchCommand *command) {
  for (guint i = 1; i < command->words->len; i++) {
    const OrrLaunchWord *word = command->words->pdata[i], *before = command->words->pdata[i - 1];
    if (g_str_has_suffix(word->text, ".py") || strcmp(before->text, "-m") == 0) return word;
  }
  return NULL;
}

/* Refuses the first command of a program that is known and not read. FALSE: none is. */
static gboolean refuse_stranger(OrrLaunchDraft *draft, const OrrShell *shell) {
  static const char *const launchers[] = {"torchrun", "accelerate", "deepspeed", "trl", NULL};
  const GPtrArray *commands = orr_shell_commands(shell);
  ORR_EACH_POINTER(const OrrLaunchCommand, command, commands) {
    g_autofree char *stranger = orr_launch_strangers_command(command, FALSE);
    if (!stranger || command->words->len == 0) continue;
    orr_diags_error(orr_launch_draft_diags(draft),
                    ((const OrrLaunchWord *)command->words->pdata[0])->place, "%s", stranger);
    return TRUE;
  }
  ORR_EACH_POINTER(const OrrLaunchCommand, command, commands) {
    for (guint k = 0; k < command->words->len; k++) {
      const char *text = ((const OrrLaunchWord *)command->words->pdata[k])->text;
      if (g_strv_contains(launchers, text) && orr_launch_trainer_refuse(draft, command))
        return TRUE;
    }
  }
  return FALSE;
}

static void refuse(OrrLaunchDraft *draft, const OrrLaunchSource *source, const OrrShell *shell) {
  if (refuse_stranger(draft, shell)) return;
  const GPtrArray *commands = orr_shell_commands(shell);
  g_autoptr(GString) seen = g_string_new(NULL);
  for (guint i = 0; i < commands->len && i < 5; i++) {
    const OrrLaunchCommand *command = commands->pdata[i];
    const OrrLaunchWord *first = command->words->pdata[0], *script = script_word(command);
    g_string_append_printf(seen, "%s%s%s%s", i ? ", " : "", first->text, script ? " ... " : "",
                           script ? script->text : "");
  }
  orr_diags_error(orr_launch_draft_diags(draft), (OrrPlace){.file = g_intern_string(source->name)},
                  "no command starts training or serving (commands: %s)",
                  commands->len ? seen->str : "none");
}

/* Post-training on Megatron takes Megatron's arguments in addition to its own. */
static gboolean is_stranger(const GPtrArray *trainers) {
  g_autofree char *stranger = orr_launch_strangers_command(trainers->pdata[0], TRUE);
  return stranger != NULL;
}

/* Whether an option of @command says on how many nodes it runs: then a loop over hosts starts one
 * job. */
static gboolean says_nodes(const OrrLaunchCommand *command) {
  static const char *const options[] = {"--nnodes", "--num_machines", "--num-machines",
                                        "--num_nodes"};
  for (guint i = 0; i < command->words->len; i++)
    for (guint k = 0; k < G_N_ELEMENTS(options); k++)
      if (g_str_has_prefix(((const OrrLaunchWord *)command->words->pdata[i])->text, options[k]))
        return TRUE;
  return FALSE;
}

/* Asks how often a loop turns that starts one of @commands. */
static void ask_loops(OrrLaunchDraft *draft, const GPtrArray *commands, gboolean is_training) {
  ORR_EACH_POINTER(const OrrLaunchCommand, command, commands) {
    if (!command->loop) continue;
    const int line = ((const OrrLaunchWord *)command->words->pdata[0])->place.line;
    if (is_training && says_nodes(command))
      orr_launch_draft_remark(draft, "line %d, '%s': taken as the nodes of one job",
                              command->loop_place.line, command->loop);
    else
      orr_diags_error(orr_launch_draft_diags(draft), command->loop_place,
                      "how often does '%s' start the command of line %d? Write its words out, or "
                      "add --set NAME=VALUE for the variables in them",
                      command->loop, line);
  }
}

/* "--config {(1,2)}": what stands behind the bracket is not the command's. */
static void refuse_brackets(OrrLaunchDraft *draft, const GPtrArray *commands) {
  ORR_EACH_POINTER(const OrrLaunchCommand, command, commands)
    if (command->bracket.line > 0)
      orr_diags_error(orr_launch_draft_diags(draft), command->bracket,
                      "'(' inside a command: bash refuses the line; put the word in quotes");
}

static void read(OrrLaunchDraft *draft, OrrLaunchSource *source) {
  g_autoptr(OrrShell) shell = orr_shell_new(draft);
  g_autoptr(GPtrArray) servers = g_ptr_array_new(), trainers = g_ptr_array_new();
  g_autofree char *text = cleaned(source);
  orr_shell_headers(shell, draft, text);
  orr_shell_run(shell, text, ORR_SHELL_BEGIN(source->name));
  const GPtrArray *commands = orr_shell_commands(shell);
  for (guint i = 0; i < commands->len; i++) {
    if (orr_launch_server_knows(commands->pdata[i]))
      g_ptr_array_add(servers, commands->pdata[i]);
    else if (orr_launch_trainer_knows(commands->pdata[i]))
      g_ptr_array_add(trainers, commands->pdata[i]);
  }
  const gboolean is_training = trainers->len && !is_stranger(trainers);
  ask_loops(draft, is_training ? trainers : servers, is_training);
  refuse_brackets(draft, is_training ? trainers : servers);
  if (is_training)
    orr_launch_trainer_read(draft, trainers);
  else if (servers->len && !orr_launch_strangers_refuse(draft, commands, servers))
    orr_launch_server_group_read(draft, servers);
  else if (orr_diags_n_errors(orr_launch_draft_diags(draft)) == 0)
    refuse(draft, source, shell);
}

const OrrLaunchForm orr_launch_form_shell = {
    .name = "shell",
    .sentence = "A shell script, a launch line, or a page of documentation with either.",
    .recognise = recognise,
    .read = read,
};
