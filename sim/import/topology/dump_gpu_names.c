/*
 * dump_gpu_names.c - GPUs by name, as texts around a matrix have them: which device it is.
 *
 *   GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)                       nvidia-smi -L
 *   GPU 0,1,2,3,4,5,6,7: NVIDIA B300 SXM6 AC                           PyTorch's collect_env
 *   |   4  NVIDIA H100 80GB HBM3          On  |   00000000:9D:00.0 Off | ...       nvidia-smi
 *   0, NVIDIA A100-SXM4-80GB, 81920 MiB        --query-gpu=index,name,memory.total --format=csv
 */
#include "sim/import/topology/dump.h"

/* "GPU 0: NAME (UUID: ...)" or "GPU 0,1: NAME"; NULL: another line. */
static char *name_in_list(const char *line) {
  line += strspn(line, " \t");
  if (!g_str_has_prefix(line, "GPU ") || !g_ascii_isdigit(line[4])) return NULL;
  const char *colon = line + 4 + strspn(line + 4, "0123456789,");
  if (*colon != ':' || colon[1] != ' ') return NULL;
  return g_strstrip(g_strndup(colon + 1, strcspn(colon + 1, "(")));
}

/* "|   4  NVIDIA H100 80GB HBM3          On  | ..."; NULL: another line. */
static char *name_in_table(const char *line) {
  line += strspn(line, " \t");
  if (*line != '|') return NULL;
  g_autofree char *cell = g_strndup(line + 1, strcspn(line + 1, "|"));
  g_auto(GStrv) words = orr_dump_words(cell, NULL);
  const guint n = g_strv_length(words);
  if (n < 4 || strspn(words[0], "0123456789") != strlen(words[0]) || !strchr(line, ':'))
    return NULL;
  if (strcmp(words[1], "NVIDIA") != 0 && strcmp(words[1], "Tesla") != 0) return NULL;
  g_free(words[n - 1]);
  words[n - 1] = NULL; /* persistence mode */
  return g_strjoinv(" ", words + 1);
}

/* "0, NVIDIA A100-SXM4-80GB, 81920 MiB"; NULL: another line. */
static char *name_in_csv(const char *line) {
  line += strspn(line, " \t");
  const gsize digits = strspn(line, "0123456789");
  if (digits == 0 || !g_str_has_prefix(line + digits, ", NVIDIA ")) return NULL;
  const char *name = line + digits + 2;
  return g_strstrip(g_strndup(name, strcspn(name, ",")));
}

static char *name_in(const char *line) {
  char *name = name_in_list(line);
  if (!name) name = name_in_table(line);
  return name ? name : name_in_csv(line);
}

static gboolean recognise(const OrrDumpText *text) {
  for (guint i = 0; i < text->n_lines; i++) {
    g_autofree char *name = name_in(text->lines[i]);
    if (name && *name) return TRUE;
  }
  return FALSE;
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  for (guint i = 0; i < text->n_lines && dump->kinds->len < ORR_DUMP_MAX_GPUS; i++) {
    g_autofree char *name = name_in(text->lines[i]);
    if (!name || !*name) continue;
    ORR_APPEND(dump->kinds, OrrDumpKind, {.name = g_steal_pointer(&name)});
  }
}

const OrrDumpReader orr_dump_gpu_names = {
    .name = "gpu-names",
    .sentence = "nvidia-smi or nvidia-smi -L",
    .recognise = recognise,
    .read = read_text,
};
