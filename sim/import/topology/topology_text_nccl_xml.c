/*
 * topology_text_nccl_xml.c - a node as the XML that NCCL dumps and reads (dump_nccl_xml.c has its
 * form).
 *
 * A host bridge is a <cpu>, a PCIe switch a <pci> of class 0x060400; without PCIe switches in the
 * document, GPUs and NICs stand below the CPU. NVLink within a node goes to NVSwitch where it joins
 * all GPUs, else from GPU to GPU. Where NVLink spans nodes, all nodes of one domain are written,
 * as NCCL merges them.
 */
#include "sim/import/topology/cluster_plan.h"
#include "sim/import/topology/topology_text.h"

typedef struct {
  GString *text;
  const OrrCluster *cluster;
  const OrrKnownGpu *gpu; /* NULL: a device without a PCI id here */
  gint64 gpus, nics, domain;
  gint64 host;
} Writer;

static const OrrKnownGpu *find_gpu(const char *device) {
  for (const OrrKnownGpu *gpu = orr_known_gpus; gpu->label; gpu++)
    if (device && gpu->sm && g_strcmp0(gpu->device, device) == 0) return gpu; /* NVIDIA's alone */
  return NULL;
}

/* Lines are indented by two columns per level. */
static void G_GNUC_PRINTF(3, 4) line(const Writer *writer, guint level, const char *format, ...) {
  va_list args;
  va_start(args, format);
  g_string_append_printf(writer->text, "%*s", (int)(2 * level), "");
  g_string_append_vprintf(writer->text, format, args);
  g_string_append_c(writer->text, '\n');
  va_end(args);
}

static char *gpu_bus(gint64 gpu) {
  return g_strdup_printf("%04" G_GINT64_MODIFIER "x:%02" G_GINT64_MODIFIER "x:00.0", gpu / 200,
                         gpu % 200 + 1);
}

static void add_links(const Writer *writer, guint level, gint64 gpu) {
  const guint links = writer->gpu->nvlinks ? writer->gpu->nvlinks : 1;
  const gint64 first = gpu / writer->domain * writer->domain;
  if (writer->domain <= 1) return;
  if (writer->domain >= writer->gpus)
    return line(writer, level,
                "<nvlink target=\"fffffff:ff:ff.0\" count=\"%u\" tclass=\"0x068000\"/>", links);
  for (gint64 peer = first; peer < first + writer->domain; peer++) {
    g_autofree char *bus = gpu_bus(peer);
    if (peer != gpu)
      line(writer, level, "<nvlink target=\"%s\" count=\"%u\" tclass=\"0x030200\"/>", bus,
           (guint)MAX(1, links / (writer->domain - 1)));
  }
}

/* A device without an entry has no id, capability or number of NVLinks to write. */
static void add_gpu(const Writer *writer, guint level, gint64 gpu) {
  g_autofree char *bus = gpu_bus(gpu);
  if (!writer->gpu) return line(writer, level, "<pci busid=\"%s\" class=\"0x030200\"/>", bus);
  line(writer, level, "<pci busid=\"%s\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x%04x\">",
       bus, writer->gpu->ids[0]);
  line(writer, level + 1, "<gpu dev=\"%ld\" sm=\"%d\" rank=\"%ld\" gdr=\"%d\">", gpu,
       writer->gpu->sm, writer->host * writer->gpus + gpu, writer->cluster->node.gpudirect_rdma);
  add_links(writer, level + 2, gpu);
  line(writer, level + 1, "</gpu>");
  line(writer, level, "</pci>");
}

static void add_nic(const Writer *writer, guint level, gint64 nic) {
  const gint64 ports = MAX(1, writer->cluster->node.ports_per_nic);
  const double mbit = writer->cluster->node.nic_bytes_per_s * 8 / 1e6 / (double)ports;
  line(writer, level,
       "<pci busid=\"%04" G_GINT64_MODIFIER "x:%02" G_GINT64_MODIFIER
       "x:00.0\" class=\"0x020700\">",
       nic / 50, nic % 50 + 201);
  line(writer, level + 1, "<nic>");
  for (gint64 port = 0; port < ports; port++)
    line(writer, level + 2,
         "<net name=\"mlx5_%ld\" dev=\"%ld\" speed=\"%.10g\" port=\"%ld\" gdr=\"%d\"/>", nic, nic,
         mbit, port + 1, writer->cluster->node.gpudirect_rdma);
  line(writer, level + 1, "</nic>");
  line(writer, level, "</pci>");
}

/* GPUs @first to @first + @n - 1 and the NICs that are theirs. */
static void add_devices(const Writer *writer, guint level, gint64 first, gint64 n) {
  const gint64 begin = first * writer->nics / writer->gpus,
               end = (first + n) * writer->nics / writer->gpus;
  for (gint64 gpu = first; gpu < first + n; gpu++) add_gpu(writer, level, gpu);
  for (gint64 nic = begin; nic < end; nic++) add_nic(writer, level, nic);
}

static void add_cpu(const Writer *writer, gint64 cpu, gint64 n) {
  const gint64 each = writer->cluster->node.host.gpus_per_switch;
  if (writer->domain > writer->gpus)
    line(writer, 1, "<cpu host_hash=\"0x%ld\" numaid=\"%ld\">", writer->host + 1, cpu);
  else
    line(writer, 1, "<cpu numaid=\"%ld\">", cpu);
  for (gint64 first = cpu * n; each > 0 && first < (cpu + 1) * n; first += each) {
    line(writer, 2, "<pci busid=\"ffff:ff:%02" G_GINT64_MODIFIER "x.0\" class=\"0x060400\">",
         first / each);
    add_devices(writer, 3, first, each);
    line(writer, 2, "</pci>");
  }
  if (each == 0) add_devices(writer, 2, cpu * n, n);
  line(writer, 1, "</cpu>");
}

static char *write_cluster(const OrrCluster *cluster, GError **error) {
  const OrrNodeShape *node = &cluster->node;
  Writer writer = {.text = g_string_new(NULL),
                   .cluster = cluster,
                   .gpu = find_gpu(cluster->device.name),
                   .gpus = node->gpus,
                   .nics = llround((double)node->gpus * node->nics_per_gpu),
                   .domain = node->scale_up_domain};
  const gint64 n = node->host.gpus_per_bridge > 0 ? node->host.gpus_per_bridge : node->gpus;
  line(&writer, 0, "<system version=\"1\">");
  for (; writer.host < MAX(1, writer.domain / writer.gpus); writer.host++)
    for (gint64 cpu = 0; cpu < node->gpus / n; cpu++) add_cpu(&writer, cpu, n);
  line(&writer, 0, "</system>");
  return g_string_free(writer.text, FALSE);
}

const OrrTopologyText orr_topology_text_nccl_xml = {
    .name = "nccl-xml",
    .sentence = "a node as NCCL_TOPO_DUMP_FILE writes it",
    .write = write_cluster,
};
