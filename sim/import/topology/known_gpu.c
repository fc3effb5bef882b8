/*
 * known_gpu.c - the table of GPUs, and how a dump's evidence narrows it down.
 *
 * PCI ids and names: pci.ids (2026-10) and NVIDIA's list of supported products (driver 580,
 * appendix A). NVLinks: NVIDIA datasheets. AMD: ROCm documentation, "GPU hardware specifications".
 */
#include "sim/import/topology/cluster_plan.h"

/* In the order in which an unsure choice takes them. */
const OrrKnownGpu orr_known_gpus[] = {
    {"h100-sxm",
     "H100 SXM",
     {0x2330},
     {"H100 80GB HBM3", "H100 SXM5", "H100 SXM", "H100"},
     90,
     NULL,
     18},
    {"h200-sxm", "H200 SXM", {0x2335}, {"H200 SXM", "H200"}, 90, NULL, 18},
    {"a100-80gb-sxm",
     "A100 SXM 80 GB",
     {0x20b2},
     {"A100-SXM4-80GB", "A100 SXM4 80GB", "A100-SXM-80GB", "A100"},
     80,
     NULL,
     12},
    {"a100-40gb-sxm",
     "A100 SXM 40 GB",
     {0x20b0},
     {"A100-SXM4-40GB", "A100 SXM4 40GB", "A100"},
     80,
     NULL,
     12},
    {"b200", "B200", {0x2901}, {"B200"}, 100, NULL, 18},
    {"b300", "B300", {0x3182}, {"B300"}, 103, NULL, 18},
    {"gb200", "GB200", {0x2941}, {"GB200"}, 100, NULL, 18},
    {"gb300", "GB300", {0x31c2}, {"GB300"}, 103, NULL, 18},
    {"l40s", "L40S", {0x26b9}, {"L40S"}, 89, NULL, 0},
    {"rtx-pro-6000",
     "RTX PRO 6000 Blackwell Server",
     {0x2bb5},
     {"RTX PRO 6000 BLACKWELL SERVER", "RTX PRO 6000"},
     120,
     NULL,
     0},
    {NULL, "H200 NVL", {0x233b}, {"H200 NVL"}, 90, NULL, 18},
    {NULL, "H100 NVL", {0x2321}, {"H100 NVL", "H100"}, 90, NULL, 12},
    {NULL, "H100 PCIe", {0x2331}, {"H100 PCIE", "H100"}, 90, NULL, 12},
    {NULL, "H20", {0x2329}, {"H20"}, 90, NULL, 18},
    {NULL, "H800", {0x2324, 0x2322}, {"H800"}, 90, NULL, 8},
    {NULL, "GH200", {0x2342, 0x2348}, {"GH200"}, 90, NULL, 18},
    {NULL,
     "A100 PCIe",
     {0x20b5, 0x20f1},
     {"A100 80GB PCIE", "A100-PCIE-40GB", "A100 PCIE", "A100-PCIE", "A100"},
     80,
     NULL,
     12},
    {NULL, "A800", {0x20f3, 0x20f5, 0x20bd}, {"A800"}, 80, NULL, 8},
    {NULL, "A40", {0x2235}, {"A40"}, 86, NULL, 4},
    {NULL, "A10", {0x2236, 0x2237}, {"A10"}, 86, NULL, 0},
    {NULL, "L40", {0x26b5}, {"L40"}, 89, NULL, 0},
    {NULL, "L4", {0x27b8}, {"L4"}, 89, NULL, 0},
    {NULL, "T4", {0x1eb8}, {"T4"}, 75, NULL, 0},
    {NULL, "V100", {0x1db1, 0x1db5, 0x1db4, 0x1db6}, {"V100"}, 70, NULL, 6},
    {NULL, "P100", {0x15f9, 0x15f8}, {"P100"}, 60, NULL, 4},
    {NULL, "GB10", {0x2e12}, {"GB10"}, 121, NULL, 0},
    {"mi300x", "AMD Instinct MI300X", {0x74a1}, {"MI300X"}, 0, "gfx942", 7},
    {"mi325x", "AMD Instinct MI325X", {0x74a5}, {"MI325X"}, 0, "gfx942", 7},
    {"mi355x", "AMD Instinct MI355X", {0x75a3}, {"MI355X", "MI350"}, 0, "gfx950", 7},
    {NULL, "AMD Instinct MI250X", {0x7408, 0x740c}, {"MI250"}, 0, "gfx90a", 8},
    {NULL, "AMD Instinct MI100", {0x738c}, {"MI100"}, 0, "gfx908", 3},
    {NULL, "AMD Instinct MI50", {0x66a0, 0x66a1}, {"MI50", "MI60"}, 0, "gfx906", 2},
    {NULL, NULL, {0}, {NULL}, 0, NULL, 0},
};

enum { NVIDIA = 0x10de, AMD = 0x1002 };

static gboolean has_id(const OrrKnownGpu *gpu, guint32 vendor, guint32 id) {
  if (vendor != (gpu->sm ? NVIDIA : AMD)) return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(gpu->ids) && gpu->ids[i]; i++)
    if (gpu->ids[i] == id) return TRUE;
  return FALSE;
}

/* The length of the longest name of @gpu in @name, as whole words; 0: none. */
static gsize has_name(const OrrKnownGpu *gpu, const char *name) {
  g_autofree char *upper = g_ascii_strup(name, -1);
  gsize longest = 0;
  for (guint i = 0; i < G_N_ELEMENTS(gpu->names) && gpu->names[i]; i++) {
    const char *found = strstr(upper, gpu->names[i]);
    const gsize n = strlen(gpu->names[i]);
    const gboolean whole = found && (found == upper || !g_ascii_isalnum(found[-1])) &&
                           (!g_ascii_isalnum(found[n]) || strchr("X", found[n]));
    if (whole) longest = MAX(longest, n);
  }
  return longest;
}

/* The most specific name counts: "H200 NVL" differs from "H200". */
static void match_name(const char *name, GPtrArray *found) {
  gsize longest = 0;
  for (const OrrKnownGpu *gpu = orr_known_gpus; gpu->label; gpu++)
    longest = MAX(longest, has_name(gpu, name));
  for (const OrrKnownGpu *gpu = orr_known_gpus; gpu->label && longest; gpu++)
    if (has_name(gpu, name) == longest) g_ptr_array_add(found, (gpointer)gpu);
}

static gboolean agrees(const OrrKnownGpu *gpu, const OrrDumpKind *kind) {
  if (kind->gcn && g_strcmp0(kind->gcn, gpu->gcn) != 0) return FALSE;
  if (kind->sm && kind->sm != gpu->sm) return FALSE;
  if (!kind->gcn && (kind->vendor == AMD) == (gpu->sm != 0)) return FALSE;
  if (kind->gcn || !kind->nvlinks_known) return TRUE;
  if (kind->vendor == AMD) return kind->nvlinks <= gpu->nvlinks; /* pairs are shown, not links */
  if (kind->nvlinks == 0) return gpu->nvlinks == 0 || kind->sm;
  return kind->nvlinks == gpu->nvlinks || (kind->sm && kind->nvlinks < gpu->nvlinks);
}

static char *shown(const OrrDumpKind *kind) {
  if (kind->name) return g_strdup(kind->name);
  if (kind->gcn) return g_strdup(kind->gcn);
  if (kind->id) return g_strdup_printf("PCI %04x:%04x", kind->vendor, kind->id);
  if (kind->sm) return g_strdup_printf("sm %d", kind->sm);
  if (kind->nvlinks_known && kind->nvlinks)
    return g_strdup_printf("it has %u %s", kind->nvlinks,
                           kind->vendor == AMD ? "links of XGMI" : "NVLinks");
  return NULL;
}

GPtrArray *orr_known_gpu_match(const OrrDumpKind *kind, char **ret_shown) {
  GPtrArray *found = g_ptr_array_new();
  for (const OrrKnownGpu *gpu = orr_known_gpus; gpu->label && kind->id; gpu++)
    if (has_id(gpu, kind->vendor, kind->id)) g_ptr_array_add(found, (gpointer)gpu);
  if (found->len == 0 && kind->name) match_name(kind->name, found);
  const gboolean has_more = kind->gcn || kind->sm || kind->nvlinks_known;
  for (const OrrKnownGpu *gpu = orr_known_gpus;
       gpu->label && found->len == 0 && !kind->name && has_more; gpu++) {
    for (; gpu->label; gpu++)
      if (agrees(gpu, kind)) g_ptr_array_add(found, (gpointer)gpu);
    break;
  }
  *ret_shown = found->len == 0 ? shown(kind) : NULL;
  return found;
}
