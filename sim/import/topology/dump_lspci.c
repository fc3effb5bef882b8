/*
 * dump_lspci.c - `lspci -tv` (or plain `lspci`): which GPUs and NICs are in a node.
 *
 *   -+-[0000:e0]-+-00.0  Advanced Micro Devices, Inc. [AMD] Device 14a4
 *    |           \-01.1-[c1-c6]--+-00.0-[c3]----00.0  Mellanox Technologies MT2910 [ConnectX-7]
 *    |                           \-01.0-[c4]----00.0  NVIDIA Corporation GH100 [H100 SXM5 80GB]
 *
 * The name of a GPU's model shows which device it is. NVLinks are not shown, and NVSwitches are not
 * counted. The tree above the devices is not read: the XML and the matrix state it plainly.
 *
 * Source: lspci(8), pciutils; the names come from pci.ids.
 */
#include "sim/import/topology/cluster_plan.h"

/* The description at the end of a line, or NULL. */
static const char *description(const char *line) {
  static const char *const vendors[] = {"NVIDIA Corporation ", "Mellanox Technologies ",
                                        "Advanced Micro Devices, Inc. [AMD/ATI] "};
  for (guint i = 0; i < G_N_ELEMENTS(vendors); i++) {
    const char *found = strstr(line, vendors[i]);
    if (found) return found;
  }
  return NULL;
}

/* "00.0  NVIDIA ..." in a tree; "18:00.0 3D controller: NVIDIA ..." in a list. */
static gboolean is_line(const char *line) {
  const char *text = description(line);
  if (!text || text < line + 4) return FALSE;
  if (strstr(line, " controller: ")) return g_ascii_isxdigit(*line) && strchr(line, ':') < line + 8;
  return text[-1] == ' ' && text[-2] == ' ' && g_ascii_isdigit(text[-3]) && text[-4] == '.';
}

static gboolean recognise(const OrrDumpText *text) {
  for (guint i = 0; i < text->n_lines; i++)
    if (is_line(text->lines[i])) return TRUE;
  return FALSE;
}

/* "[10de:2330]" (lspci -nn) or "Device 2330", where lspci's list is older than the GPU; 0: none of
 * them. */
static guint32 id_of(const char *text) {
  const char *id = strstr(text, "[10de:"), *device = strstr(text, " Device ");
  if (id) return (guint32)g_ascii_strtoull(id + strlen("[10de:"), NULL, 16);
  return device ? (guint32)g_ascii_strtoull(device + strlen(" Device "), NULL, 16) : 0;
}

static gboolean is_known_id(guint32 id) {
  for (const OrrKnownGpu *gpu = orr_known_gpus; gpu->label && id; gpu++)
    for (guint i = 0; i < G_N_ELEMENTS(gpu->ids); i++)
      if (gpu->ids[i] == id) return TRUE;
  return FALSE;
}

static gboolean is_gpu(const char *text) {
  const char *model = strchr(text, '[');
  if (g_str_has_prefix(text, "Advanced")) return strstr(text, "Instinct") != NULL;
  if (!g_str_has_prefix(text, "NVIDIA") || strstr(text, "NVSwitch") || strstr(text, "udio"))
    return FALSE;
  return is_known_id(id_of(text)) || (model && !g_str_has_prefix(model, "[10de:"));
}

static void add_gpu(OrrDumpNode *node, const char *text) {
  enum { NVIDIA = 0x10de };
  const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
  if (node->gpus->len >= ORR_DUMP_MAX_GPUS) return;
  OrrDumpGpu *gpu = orr_dump_node_add_gpu(node, "GPU");
  if (g_str_has_prefix(text, "Advanced")) /* "[AMD/ATI] Aqua Vanjaram [Instinct MI300X]" */
    open = strrchr(text, '['), close = open ? strchr(open, ']') : NULL;
  if (is_known_id(id_of(text)))
    gpu->kind.vendor = NVIDIA, gpu->kind.id = id_of(text);
  else if (close)
    gpu->kind.name = g_strndup(open + 1, (gsize)(close - open - 1));
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  OrrDumpNode *node = orr_dump_add_node(dump, "lspci", orr_dump_place(text, 1, 1));
  for (guint i = 0; i < text->n_lines; i++) {
    if (!is_line(text->lines[i])) continue;
    const char *about = description(text->lines[i]);
    if (is_gpu(about)) add_gpu(node, about);
    if (strstr(about, "ConnectX") && !strstr(about, "Virtual Function") &&
        node->nics->len < ORR_DUMP_MAX_NICS)
      orr_dump_node_add_nic(node, strchr(about, '[') ? strchr(about, '[') : "NIC");
  }
  if (node->gpus->len == 0) {
    g_ptr_array_remove(dump->nodes, node);
    orr_diags_error(diags, orr_dump_place(text, 1, 1),
                    "lspci lists no GPU that it can name: expected e.g. 'NVIDIA Corporation GH100 "
                    "[H100 SXM5 80GB]'");
  }
}

const OrrDumpReader orr_dump_lspci = {
    .name = "lspci",
    .sentence = "lspci -tv",
    .recognise = recognise,
    .read = read_text,
};
