/*
 * dump_lstopo.c - `lstopo -` and `lstopo --of xml` of hwloc: which GPUs and NICs are in a node.
 *
 *   PCI 1b:00.0 (3D)                            a GPU; (ProcAccel) is AMD's class
 *     GPU(NVML) "nvml0"
 *   PCI 18:00.0 (InfiniBand)
 *     OpenFabrics "mlx5_0"                      a NIC
 *
 *   PCI L#3 (busid=0000:1b:00.0 id=10de:2330 class=0302(3D) ...)        lstopo -v
 *   <object type="PCIDev" pci_type="0302 [10de:2330] [10de:16c1] a1" ...>
 *   <object type="OSDev" name="mlx5_0" osdev_type="3">
 *
 * The vendor's and device's numbers, where they are shown, say which device it is. NVLinks are not
 * shown. The tree of packages and bridges is not read.
 *
 * Source: lstopo(1) and hwloc/topology-xml.c of open-mpi/hwloc, 2.0 to 2.11.
 */
#include "sim/import/topology/dump.h"

extern const OrrDumpReader orr_dump_lstopo;

static gboolean recognise(const OrrDumpText *text) {
  return strstr(text->text, "Package L#") || strstr(text->text, "hwloc2.dtd") ||
         strstr(text->text, "type=\"PCIDev\"");
}

/* A line of a PCI device that computes: its class is 0302 or 1200. */
static gboolean is_gpu(const char *line) {
  const char *type = strstr(line, "pci_type=\"");
  if (type)
    return g_str_has_prefix(type + strlen("pci_type=\""), "0302") ||
           g_str_has_prefix(type + strlen("pci_type=\""), "1200");
  while (*line == ' ') line++;
  return g_str_has_prefix(line, "PCI ") && (strstr(line, "(3D)") || strstr(line, "(ProcAccel)"));
}

/* "10de:2330" in "id=10de:2330" or "[10de:2330]". */
static void set_kind(OrrDumpKind *kind, const char *line) {
  const char *id = strstr(line, "id=1"), *bracket = strstr(line, "[1");
  const char *at = bracket ? bracket + 1 : id ? id + strlen("id=") : NULL;
  char *end = NULL;
  if (!at || strlen(at) < strlen("10de:2330") || at[4] != ':') return;
  kind->vendor = (guint32)g_ascii_strtoull(at, NULL, 16);
  kind->id = (guint32)g_ascii_strtoull(at + 5, &end, 16);
}

/* The name in quotes of an OpenFabrics device, or NULL. Newly allocated. */
static char *nic_of(const char *line) {
  const gboolean is_xml = strstr(line, "osdev_type=\"3\"") != NULL;
  const char *at = is_xml ? strstr(line, " name=\"") : strstr(line, "OpenFabrics ");
  const char *open = at ? strchr(at, '"') : NULL, *close = open ? strchr(open + 1, '"') : NULL;
  return close ? g_strndup(open + 1, (gsize)(close - open - 1)) : NULL;
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  OrrDumpNode *node = orr_dump_add_node(dump, "lstopo", orr_dump_place(text, 1, 1));
  for (guint i = 0; i < text->n_lines; i++) {
    const char *line = text->lines[i];
    g_autofree char *nic = nic_of(line);
    if (is_gpu(line) && node->gpus->len < ORR_DUMP_MAX_GPUS)
      set_kind(&orr_dump_node_add_gpu(node, "GPU")->kind, line);
    if (nic && node->nics->len < ORR_DUMP_MAX_NICS) orr_dump_node_add_nic(node, nic);
  }
  if (node->gpus->len > 0) return;
  g_ptr_array_remove(dump->nodes, node);
  orr_diags_error(diags, orr_dump_place(text, 1, 1),
                  "lstopo lists no GPU: expected e.g. 'PCI 1b:00.0 (3D)'");
}

const OrrDumpReader orr_dump_lstopo = {
    .name = "lstopo",
    .sentence = "lstopo, as text or XML",
    .recognise = recognise,
    .read = read_text,
};
