/*
 * dump_rocm_smi.c - `rocm-smi --showtopo`: how AMD's GPUs of a node are joined.
 *
 *   =============================== Link Type between two GPUs ===============================
 *          GPU0         GPU1         GPU2
 *   GPU0   0            XGMI         PCIE
 *   GPU1   XGMI         0            PCIE
 *   ======================================= Numa Nodes =======================================
 *   GPU[0]          : (Topology) Numa Node: 0
 *
 * A pair that shows XGMI has a link of Infinity Fabric. The tables of weights and hops say no more
 * and are skipped.
 *
 * Source: rocm_smi.py of ROCm/rocm_smi_lib, showHwTopology, 5.0 to 7.0.
 */
#include "sim/import/topology/dump.h"

enum { AMD = 0x1002 }; /* PCI's number of the vendor */

static const char title[] = "Link Type between two GPUs";

static gboolean recognise(const OrrDumpText *text) { return strstr(text->text, title) != NULL; }

static gboolean is_gpu(const char *word) {
  return g_str_has_prefix(word, "GPU") && g_ascii_isdigit(word[3]);
}

static guint index_of(char **header, const char *name) {
  guint i = 0;
  while (header[i] && strcmp(header[i], name) != 0) i++;
  return i;
}

/* "GPU1 XGMI 0 PCIE" below @header, of @n names. */
static void read_row(const OrrDumpText *text, OrrDumpNode *node, char **header, char **words,
                     guint line, OrrDiags *diags) {
  const guint n = node->gpus->len, row = index_of(header, words[0]);
  if (row >= n || g_strv_length(words) != n + 1)
    return orr_diags_error(
        diags, orr_dump_place(text, line, 1),
        "row %s has %u cells, and the header names %u GPUs: it is cut off or damaged", words[0],
        g_strv_length(words) - 1, n);
  for (guint i = 0; i < n; i++) {
    const gboolean is_link = strcmp(words[i + 1], "XGMI") == 0;
    if (is_link && i != row) node->nvlink[row * n + i] = 1;
    if (!is_link && strcmp(words[i + 1], "PCIE") != 0 && strcmp(words[i + 1], "0") != 0)
      orr_diags_error(diags, orr_dump_place(text, line, 1),
                      "cell %u of row %s is '%s': expected XGMI or PCIE", i + 1, words[0],
                      words[i + 1]);
  }
}

/* "GPU[0] : (Topology) Numa Node: 0" */
static void read_numa(OrrDumpNode *node, const char *line) {
  const char *numa = strstr(line, "Numa Node:");
  if (!numa || !g_str_has_prefix(line, "GPU[")) return;
  const guint64 gpu = g_ascii_strtoull(line + 4, NULL, 10);
  const gint64 at = g_ascii_strtoll(numa + strlen("Numa Node:"), NULL, 10);
  if (gpu < node->gpus->len && at >= 0 && at < 1024) orr_dump_gpu(node, (guint)gpu)->numa = (int)at;
}

/* Links of each GPU, and one row for each GPU of the header. */
static void close_table(const OrrDumpText *text, OrrDumpNode *node, guint n_rows, guint line,
                        OrrDiags *diags) {
  const guint n = node->gpus->len;
  if (n_rows != n)
    orr_diags_error(diags, orr_dump_place(text, line, 1), "%u rows below a header of %u GPUs",
                    n_rows, n);
  for (guint a = 0; a < n; a++)
    for (guint b = 0; b < n; b++) orr_dump_gpu(node, a)->kind.nvlinks += node->nvlink[a * n + b];
}

static OrrDumpNode *open_table(const OrrDumpText *text, OrrDump *dump, char **header, guint line,
                               OrrDiags *diags) {
  const guint n = g_strv_length(header);
  if (n > ORR_DUMP_MAX_GPUS) {
    orr_diags_error(diags, orr_dump_place(text, line, 1), "a node has at most %d GPUs",
                    ORR_DUMP_MAX_GPUS);
    return NULL;
  }
  OrrDumpNode *node = orr_dump_add_node(dump, "rocm-smi --showtopo", orr_dump_place(text, line, 1));
  for (guint i = 0; i < n; i++) {
    OrrDumpKind *kind = &orr_dump_node_add_gpu(node, header[i])->kind;
    kind->vendor = AMD;
    kind->nvlinks_known = TRUE;
  }
  node->nvlink = g_new0(guint16, (gsize)n * n);
  return node;
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  g_auto(GStrv) header = NULL;
  OrrDumpNode *node = NULL;
  gboolean is_inside = FALSE;
  guint n_rows = 0, first = 0;
  for (guint i = 0; i < text->n_lines && orr_diags_n_errors(diags) < 20; i++) {
    const char *line = text->lines[i];
    if (line[0] == '=') is_inside = strstr(line, title) != NULL;
    g_auto(GStrv) words = orr_dump_words(line, NULL);
    if (node) read_numa(node, line);
    if (!is_inside || !words[0] || !is_gpu(words[0])) continue;
    if (!node && words[1] && is_gpu(words[1])) {
      node = open_table(text, dump, words, i + 1, diags);
      if (!node) return;
      header = g_steal_pointer(&words);
      first = i + 1;
    } else if (node) {
      read_row(text, node, header, words, i + 1, diags);
      n_rows++;
    }
  }
  if (node)
    close_table(text, node, n_rows, first, diags);
  else
    orr_diags_error(diags, orr_dump_place(text, 1, 1),
                    "no table of links between two GPUs or more is below its title");
}

const OrrDumpReader orr_dump_rocm_smi = {
    .name = "rocm-smi",
    .sentence = "rocm-smi --showtopo",
    .recognise = recognise,
    .read = read_text,
};
