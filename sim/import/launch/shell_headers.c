/*
 * shell_headers.c - the lines "#SBATCH --nodes=4" of a script: nodes, GPUs and tasks, the
 * variables that Slurm sets from them, and Pyxis' image.
 */
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/shell_private.h"

typedef struct {
  const char *options;   /* long and short, separated by blanks */
  const char *variables; /* that Slurm sets from it */
} Header;

static const Header headers[] = {
    {"--nodes -N", "SLURM_NNODES SLURM_JOB_NUM_NODES"},
    {"--gpus-per-node --gres", "SLURM_GPUS_PER_NODE SLURM_GPUS_ON_NODE"},
    {"--ntasks-per-node", "SLURM_NTASKS_PER_NODE"},
    {"--ntasks -n", "SLURM_NTASKS SLURM_NPROCS"},
    {"--cpus-per-task -c", "SLURM_CPUS_PER_TASK"},
    {"--gpus -G", "SLURM_GPUS"},
    {"--container-image", ""},
};
enum { NODES, GPUS_PER_NODE, TASKS_PER_NODE, TASKS, CPUS, GPUS, IMAGE };

/* The last number of "gpu:h100:8", "8", "2-4": what follows the last ':' or '-'. */
static gint64 last_number(const char *text) {
  const char *at = text + strlen(text);
  while (at > text && g_ascii_isdigit(at[-1])) at--;
  return g_ascii_strtoll(at, NULL, 10);
}

static void apply_header(OrrLaunchDraft *draft, OrrShell *shell, const Header *header,
                         const char *value) {
  const gint64 number = last_number(value);
  g_auto(GStrv) names = g_strsplit(header->variables, " ", -1);
  g_autofree char *text = g_strdup_printf("%ld", number);
  g_autofree char *from =
      g_strdup_printf("#SBATCH %.*s", (int)strcspn(header->options, " "), header->options);
  if (number <= 0) return;
  for (char **name = names; *name; name++) orr_shell_set(shell, *name, text);
  if (header == &headers[NODES]) orr_launch_draft_set_nodes(draft, number, from);
  if (header == &headers[GPUS_PER_NODE]) orr_launch_draft_set_gpus_per_node(draft, number, from);
  if (header == &headers[TASKS_PER_NODE]) draft->tasks_per_node = number;
  if (header == &headers[TASKS]) draft->tasks = number;
  if (header == &headers[GPUS]) draft->all_gpus = number;
}

/* "--gpus=16" counts the GPUs of all nodes: where no header counts them by node. */
static void divide_gpus(OrrLaunchDraft *draft) {
  const gint64 gpus = draft->all_gpus;
  if (gpus < 1 || draft->gpus_per_node > 0 || gpus % MAX(draft->nodes, 1) != 0) return;
  if (draft->nodes < 1) orr_launch_draft_set_nodes(draft, 1, "#SBATCH --gpus");
  orr_launch_draft_set_gpus_per_node(draft, gpus / draft->nodes, "#SBATCH --gpus");
}

static void read_header(OrrLaunchDraft *draft, OrrShell *shell, const char *line) {
  for (guint i = 0; i < G_N_ELEMENTS(headers); i++) {
    g_auto(GStrv) options = g_strsplit(headers[i].options, " ", -1);
    for (char **option = options; *option; option++) {
      const char *at = strstr(line, *option);
      if (!at || !strchr("= \t", at[strlen(*option)])) continue;
      g_autofree char *value = g_strdup(at + strlen(*option) + 1);
      g_strstrip(value)[strcspn(g_strstrip(value), i == IMAGE ? " \t" : " \t#")] = '\0';
      if (i == IMAGE)
        shell->around = orr_launch_server_image(value);
      else
        apply_header(draft, shell, &headers[i], value);
    }
  }
}

void orr_shell_headers(OrrShell *shell, OrrLaunchDraft *draft, const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line; line++)
    if (g_str_has_prefix(*line, "#SBATCH")) read_header(draft, shell, *line + strlen("#SBATCH"));
  divide_gpus(draft);
}
