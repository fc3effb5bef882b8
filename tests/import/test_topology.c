/*
 * test_topology.c - dumps of small machines, written here, become cluster documents or are refused.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "sim/import/topology/cluster_plan.h"
#include "sim/import/topology/dump.h"

/* The document of dumps (NULL-terminated texts), or the error's message behind "refused: ". Each
 * question and note follows on a line "? ..." or "- ...". */
static char *import_texts(const char *const *texts, const OrrTopologyAnswers *answers) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrDump) dump = orr_dump_new();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; texts[i]; i++) {
    char *path = g_build_filename(g_get_tmp_dir(), "orrery-topology-XXXXXX", NULL);
    g_close(g_mkstemp(path), NULL);
    g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
    orr_dump_read(dump, path, diags);
    g_unlink(path);
    g_ptr_array_add(files, path);
  }
  g_ptr_array_add(files, NULL);
  if (!orr_diags_check(diags, &error)) return g_strconcat("refused: ", error->message, NULL);
  g_autoptr(OrrClusterPlan) plan =
      orr_cluster_plan_new(dump, answers, (char **)files->pdata, library, &error);
  if (!plan) return g_strconcat("refused: ", error->message, NULL);
  GString *all = g_string_new(plan->text);
  for (guint i = 0; i < plan->questions->len; i++)
    g_string_append_printf(all, "? %s\n", (char *)plan->questions->pdata[i]);
  for (guint i = 0; i < plan->notes->len; i++)
    g_string_append_printf(all, "- %s\n", (char *)plan->notes->pdata[i]);
  return g_string_free(all, FALSE);
}

static void expect_with(const char *text, const OrrTopologyAnswers *answers, const char *wanted) {
  g_autofree char *got = import_texts((const char *const[]){text, NULL}, answers);
  g_auto(GStrv) parts = g_strsplit(wanted, " & ", -1);
  for (guint i = 0; parts[i]; i++)
    if (!strstr(got, parts[i])) g_error("expected '%s' in:\n%s", parts[i], got);
}

static void expect(const char *text, const char *wanted) {
  expect_with(text, &(OrrTopologyAnswers){0}, wanted);
}

/* --- nvidia-smi topo -m --- */

/* A matrix of @n GPUs with @cell between any two, and a NIC beside each; @separator of cells. */
static char *matrix(guint n, const char *cell, const char *separator, gboolean has_nics) {
  GString *text = g_string_new("\033[4m");
  for (guint i = 0; i < n; i++) g_string_append_printf(text, "%sGPU%u", separator, i);
  for (guint i = 0; has_nics && i < n; i++) g_string_append_printf(text, "%sNIC%u", separator, i);
  g_string_append_printf(text, "%sCPU Affinity%sNUMA Affinity\033[0m\n", separator, separator);
  for (guint row = 0; row < (has_nics ? 2 * n : n); row++) {
    g_string_append_printf(text, row < n ? "GPU%u" : "NIC%u", row % n);
    for (guint i = 0; i < (has_nics ? 2 * n : n); i++)
      g_string_append_printf(text, "%s%s", separator,
                             i == row           ? " X "
                             : i < n && row < n ? cell
                             : i % n == row % n ? "PIX"
                                                : "SYS");
    if (row < n) g_string_append_printf(text, "%s-3,8-11%s%u", separator, separator, row / (n / 2));
    g_string_append(text, "\n");
  }
  return g_string_free(text, FALSE);
}

/* A page that has lost the ESC of terminal sequences, and names of GPUs in a CSV of nvidia-smi
 * (both of issues and reports around sgl-project/sglang). */
static void test_matrix_page(void) {
  g_autofree char *text = matrix(4, "NV12", "\t", TRUE);
  g_autoptr(GString) page = g_string_new("index, name, memory.total [MiB]\n");
  for (guint i = 0; i < 4; i++)
    g_string_append_printf(page, "%u, NVIDIA A100-SXM4-80GB, 81920 MiB\n", i);
  for (const char *c = text; *c; c++)
    if (*c != '\033') g_string_append_c(page, *c);
  expect(page->str, "device: a100-80gb-sxm  # A100 SXM 80 GB, as the dump shows & gpus: 4");
}

static void test_matrix(void) {
  static const char *const separators[] = {"\t", "    ", " | "};
  for (guint i = 0; i < 3; i++) {
    g_autofree char *text = matrix(8, "NV18", separators[i], TRUE);
    expect(text, "gpus: 8 &  scale-up-domain: 8 & nics-per-gpu: 1 & gpus-per-bridge: 4 & "
                 "device: h100-sxm & could be H100 SXM, H200 SXM & ? Which GPU?");
  }
  g_autofree char *ampere = matrix(8, "NV12", "\t", FALSE);
  expect(ampere, "device: a100-80gb-sxm & A100 SXM 80 GB, A100 SXM 40 GB & ? How many NICs");
  g_autofree char *cards = matrix(8, "SYS", "\t", FALSE);
  expect(cards, "scale-up-domain: 1 & device: l40s");
  expect_with(ampere, &(OrrTopologyAnswers){.device = "a100-40gb-sxm", .nodes = 4, .nics = 8},
              "device: a100-40gb-sxm  # --device & nodes: 4");
}

static void test_one_gpu(void) {
  expect("\tGPU0\trocep1s0\tib1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\tNODE\t0-19\t0\n"
         "rocep1s0\tPIX\t X \tNODE\n",
         "gpus: 1 & nics-per-gpu: 1 & - 1 of 2 NICs share no switch with a GPU");
  expect("GPU0 GPU1 are two words of prose.\n", "refused: & no format of a topology");
}

/* A GPU without NVLink among others that have it is refused, until the user says what it is; pairs
 * of GPUs that leave none over are domains of 2, and a ring of 4 joins some pairs only. */
static void test_matrix_uneven(void) {
  static const char down[] = "GPU0 GPU1 GPU2 GPU3 CPU Affinity\nGPU0 X NV18 NODE NV18 0-5\n"
                             "GPU1 NV18 X NODE NV18 0-5\nGPU2 NODE NODE X NODE 0-5\n"
                             "GPU3 NV18 NV18 NODE X 0-5\n";
  static const char ring[] = "GPU0 GPU1 GPU2 GPU3 CPU Affinity\nGPU0 X NV4 NODE NV4 0-5\n"
                             "GPU1 NV4 X NV4 NODE 0-5\nGPU2 NODE NV4 X NODE 0-5\n"
                             "GPU3 NV4 NODE NODE X 0-5\n";
  expect(down, "refused: & GPU2 has no NVLink, the other 3 GPUs have: is the node broken?");
  expect_with(down, &(OrrTopologyAnswers){.domain = 4, .device = "h100-sxm"}, "scale-up-domain: 4");
  expect_with(ring, &(OrrTopologyAnswers){.device = "h100-sxm"},
              "scale-up-domain: 1 & NVLink joins some pairs of GPUs, in no blocks of one size");
}

/* Links between two GPUs are theirs alone, without a switch. A ring of four has pairs of NV4: 4 of
 * the A100's 12 links, 100 of 300 GB/s. Four GPUs with NV4 between each two (HGX A100 of four) are
 * a mesh: 3 * 4 = 12 links, a third to each other GPU. Quads of V100's cube mesh have 1 + 1 + 2 = 4
 * of 6 links; 25 GB/s per link. */
static void test_matrix_meshes(void) {
  static const char ring[] = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\nGPU0\tX\tNV4\tNV4\tSYS\t0\n"
                             "GPU1\tNV4\tX\tSYS\tNV4\t0\nGPU2\tNV4\tSYS\tX\tNV4\t0\n"
                             "GPU3\tSYS\tNV4\tNV4\tX\t0\n";
  static const char cube[] =
      "GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7 CPU\nGPU0 X NV1 NV1 NV2 NV2 SYS SYS SYS 0\n"
      "GPU1 NV1 X NV2 NV1 SYS NV2 SYS SYS 0\nGPU2 NV1 NV2 X NV2 SYS SYS NV1 SYS 0\n"
      "GPU3 NV2 NV1 NV2 X SYS SYS SYS NV1 0\nGPU4 NV2 SYS SYS SYS X NV1 NV1 NV2 0\n"
      "GPU5 SYS NV2 SYS SYS NV1 X NV2 NV1 0\nGPU6 SYS SYS NV1 SYS NV1 NV2 X NV2 0\n"
      "GPU7 SYS SYS SYS NV1 NV2 NV1 NV2 X 0\n";
  const OrrTopologyAnswers a100 = {.device = "a100-80gb-sxm"};
  expect_with(ring, &a100,
              "scale-up-domain: 2  # & 4 NVLinks of each GPU join every pair of 2\n & "
              "scale-up-bandwidth: 100 GB/s  # 4 of 12 NVLinks");
  g_autofree char *board = matrix(4, "NV4", "\t", FALSE);
  expect_with(board, &a100,
              "base: a100-80gb-sxm  # --device\n  scale-up-links: 3 & scale-up-domain: 4 & "
              "12 NVLinks of each GPU join every pair of 4, without a switch");
  expect_with(board, &(OrrTopologyAnswers){.device = "a100-80gb-sxm", .domain = 4},
              "scale-up-links: 3 & scale-up-domain: 4  # --scale-up-domain");
  expect_with(cube, &a100,
              "scale-up-domain: 4 & 4 NVLinks of each GPU join every pair of 4, without a switch & "
              "scale-up-bandwidth: 100 GB/s  # 4 of 12 NVLinks & scale-up-links: 3 & "
              "- pairs of GPUs of one domain have 1 to 2 NVLinks: every pair is simulated with "
              "1.33, 4 divided by 3");
  g_autofree char *switched = matrix(4, "NV18", "\t", FALSE);
  g_autofree char *plain =
      import_texts((const char *const[]){switched, NULL}, &(OrrTopologyAnswers){0});
  g_assert_null(strstr(plain, "scale-up-links"));
}

static void test_matrix_damaged(void) {
  g_autofree char *whole = matrix(4, "NV18", "\t", FALSE);
  g_autofree char *cut = g_strndup(whole, strlen(whole) - 30);
  expect(cut, "refused: & GPU3");
  char *cell = strstr(whole, "NV18");
  memcpy(cell, "NVxx", 4);
  expect(whole, "refused: & cell GPU1 of row GPU0 is 'NVxx': expected NV#, PIX");
  expect("\tGPU0\tGPU0\nGPU0\t X \t X \n", "refused: & names GPU0 twice");
}

static void test_several_machines(void) {
  g_autofree char *one = matrix(8, "NV18", "\t", FALSE), *other = matrix(8, "SYS", "\t", FALSE);
  g_autofree char *both = g_strconcat(one, "\n\n", other, NULL);
  g_autofree char *twice = g_strconcat(one, "\n\n", one, NULL);
  expect(both, "refused: & 2 machines that differ & --choose");
  expect_with(both, &(OrrTopologyAnswers){.choose = "1"}, "scale-up-domain: 8 & nodes: 1");
  expect_with(both, &(OrrTopologyAnswers){.choose = "2"}, "scale-up-domain: 1");
  expect(twice, "scale-up-domain: 8 & nodes: 1");
}

static void test_peer_access_is_passed_over(void) {
  g_autofree char *links = matrix(4, "NV18", "\t", FALSE), *peers = matrix(4, "OK", "\t", FALSE);
  g_autofree char *both = g_strconcat(links, "\n", peers, NULL);
  expect(both, "gpus: 4 & scale-up-domain: 4 & - line 7: a matrix of peer access");
}

static void test_names_around(void) {
  g_autofree char *links = matrix(8, "NV18", "\t", FALSE);
  g_autofree char *list = g_strconcat("GPU 0: NVIDIA H200 (UUID: GPU-1)\n", links, NULL);
  g_autofree char *table =
      g_strconcat("|   0  NVIDIA B200                    On  |   00000000:9D:00.0 Off |      0 |\n",
                  links, NULL);
  expect(list, "device: h200-sxm  # H200 SXM, as the dump shows");
  expect(table, "device: b200  # B200, as the dump shows");
}

static void test_lspci(void) {
  expect(
      "-+-[0000:e0]-+-01.0-[c3]----00.0  Mellanox Technologies MT2910 Family [ConnectX-7]\n"
      " |           +-02.0-[c4]----00.0  NVIDIA Corporation GH100 [H100 SXM5 80GB]\n"
      " |           \\-03.0-[c5]----00.0  NVIDIA Corporation GH100 [H100 NVSwitch]\n",
      "gpus: 1 & nics-per-gpu: 1 & device: h100-sxm  # H100 SXM & ? Which GPUs does NVLink join?");
  expect(" +-02.0-[c4]----00.0  NVIDIA Corporation Device 2335\n", "device: h200-sxm");
  expect("18:00.0 3D controller: NVIDIA Corporation Device [10de:2901] (rev a1)\n", "device: b200");
  expect(" +-02.0-[c4]----00.0  NVIDIA Corporation Device ffff\n",
         "refused: & no GPU that it can name");
}

static void test_adapters(void) {
  expect("CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\nCA 'mlx5_1'\n\t\tState: "
         "Down\n\t\tRate: 40\n",
         "nic-bandwidth: 400 Gb/s  # ibstat & nics-per-gpu: 0.125  # ibstat");
  expect("CA 'mlx5_0'\n\t\tState: Down\n", "refused: & no active port with a rate");
}

/* --- NCCL's XML --- */

#define GPU(bus_, links_)                                                                          \
  "<pci busid=\"" bus_ "\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\" "                \
  "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" sm=\"90\">" links_               \
  "</gpu></pci>"
#define SWITCHED "<nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/>"
#define NIC(speed_)                                                                                \
  "<pci busid=\"0000:19:00.0\" class=\"0x020700\"><nic><net name=\"mlx5_0\" speed=\"" speed_       \
  "\"/></nic></pci>"
#define CPU(numa_, body_) "<cpu numaid=\"" numa_ "\">" body_ "</cpu>"
#define BRIDGE(body_) "<pci busid=\"0000:16:00.0\" class=\"0x060400\">" body_ "</pci>"

static void test_xml(void) {
  expect("<!-- licence -->\n<system version=\"1\">stray text" CPU(
             "0", BRIDGE(GPU("1", SWITCHED) NIC("400000")))
             CPU("1", BRIDGE(GPU("2", SWITCHED) NIC("400000") NIC("100000"))) "</system>",
         "gpus: 2 & scale-up-domain: 2 & nics-per-gpu: 1 & nic-bandwidth: 400 Gb/s & "
         "gpus-per-bridge: 1 "
         "& device: h100-sxm  # H100 SXM, as the dump shows & - 1 NICs slower than the fastest");
  /* 16 of 18 NVLinks: 450 GB/s * 16 / 18 = 400 */
  expect("<system version=\"1\">" CPU(
             "0", GPU("1", "<nvlink target=\"2\" count=\"16\" tclass=\"0x030200\"/>") GPU(
                      "2", "<nvlink target=\"1\" count=\"16\" tclass=\"0x030200\"/>")) "</system>",
         "scale-up-domain: 2 & scale-up-bandwidth: 400 GB/s  # 16 of 18 NVLinks");
  expect("<system version=\"1\"><cpu host_hash=\"0x1\">" GPU(
             "1", SWITCHED) "</cpu><cpu host_hash=\"0x2\">" GPU("1", SWITCHED) "</cpu></system>",
         "nodes: 2 & gpus: 1 & scale-up-domain: 2 & kind: nvlink-domain");
}

static void test_xml_on_a_page(void) {
  const char *two = "A page & text < 3.\n<!-- note -->\n<system version=\"1\">" CPU(
      "0",
      GPU("1",
          SWITCHED)) "</system>\nAnother:\n<system version=\"1\">" CPU("0",
                                                                       GPU("1", SWITCHED) GPU(
                                                                           "2",
                                                                           SWITCHED)) "</"
                                                                                      "system>"
                                                                                      "\nEnd.\n";
  expect(two, "refused: & 2 machines that differ");
  expect_with(two, &(OrrTopologyAnswers){.choose = "2"}, "gpus: 2  # & :5, NCCL's XML");
}

static void test_xml_refused(void) {
  expect("<graphs version=\"1\"/>", "refused: & the root element is <graphs>, expected <system>");
  expect("<system version=\"1\"><cpu>\n<pci", "refused: & not well-formed XML");
  expect("<!DOCTYPE a [<!ENTITY b \"b\">]>\n<system><cpu/></system>",
         "refused: & :1:1: error: a document type");
  expect("<system version=\"1\"><cpu/></system>", "refused: & no GPU in this system");
  expect(
      "<system><cpu><pci class=\"0x030200\" vendor=\"0x10de\" device=\"0x1db5\"/></cpu></system>",
      "refused: & the GPU is V100, for which the library has no device");
}

/* --- ibnetdiscover --- */

typedef struct {
  guint leaves, spines, nodes; /* nodes: of a leaf */
  guint rails;                 /* 0: all of a node's ports on its leaf */
  guint skip;                  /* a cable that is left out; 0: none */
} Tree;

static void add_host(GString *text, const Tree *tree, gboolean as_pairs, guint leaf, guint i) {
  const guint group = tree->rails ? leaf / tree->rails : leaf;
  const guint rail = tree->rails ? leaf % tree->rails : 0, node = group * tree->nodes + i;
  if (as_pairs)
    g_string_append_printf(
        text, "SW 1 %u 0x%04x 4x NDR - CA 2 1 0xa%04x%x ( 'leaf%u' - 'n%u mlx5_%u' )\n", i + 1,
        leaf, node, rail, leaf, node, rail);
  else
    g_string_append_printf(text, "[%u]\t\"H-a%04x%x\"[1](1) \t# \"n%u mlx5_%u\" lid 2 4xNDR\n",
                           i + 1, node, rail, node, rail);
}

static void add_cable(GString *text, gboolean as_pairs, guint leaf, guint spine, guint port) {
  if (as_pairs)
    g_string_append_printf(text,
                           "SW 1 %u 0x%04x 4x NDR - SW 3 %u 0xf%03x ( 'leaf%u' - 'spine%u' )\n",
                           port, leaf, leaf + 1, spine, leaf, spine);
  else
    g_string_append_printf(text, "[%u]\t\"S-f%03x\"[%u]\t\t# \"spine%u\" lid 3 4xNDR\n", port,
                           spine, leaf + 1, spine);
}

/* A two-level network with one cable between any leaf and spine, from its leaves' side, in the
 * default form or as pairs. */
static char *discover(const Tree *tree, gboolean as_pairs) {
  GString *text = g_string_new("#\n# Topology file: generated on Mon Nov 23\n#\n");
  guint cable = 0;
  for (guint leaf = 0; leaf < tree->leaves; leaf++) {
    if (!as_pairs)
      g_string_append_printf(text, "\nSwitch\t64 \"S-%04x\"\t\t# \"MF0;leaf%u:MQM9700/U1\" lid 1\n",
                             leaf, leaf);
    for (guint i = 0; i < tree->nodes; i++) add_host(text, tree, as_pairs, leaf, i);
    for (guint spine = 0; spine < tree->spines; spine++)
      if (++cable != tree->skip) add_cable(text, as_pairs, leaf, spine, tree->nodes + spine + 1);
  }
  return g_string_free(text, FALSE);
}

static void expect_tree(const Tree *tree, const char *wanted) {
  for (guint as_pairs = 0; as_pairs < 2; as_pairs++) {
    g_autofree char *text = discover(tree, as_pairs);
    expect_with(text, &(OrrTopologyAnswers){.gpus = tree->rails ? tree->rails : 8}, wanted);
  }
}

/* 8 ports of 400 Gb/s below a leaf; 8 or 4 cables up. */
static void test_fat_tree(void) {
  expect_tree(
      &(Tree){.leaves = 4, .spines = 8, .nodes = 8},
      "nodes: 32 & nic-bandwidth: 400 Gb/s & nics-per-gpu: 0.125 & kind: clos & down: 8x4 & "
      "verified by counting: 32 nodes of 1 port; 4 leaves, 8 spines & between; 1:1 at a leaf");
  expect_tree(&(Tree){.leaves = 24, .spines = 8, .nodes = 16},
              "kind: fat-tree & nodes-per-leaf: 16 & oversubscription: 2");
  expect_tree(&(Tree){.leaves = 4, .spines = 4, .nodes = 8},
              "oversubscription: \"2\" & 2:1 at a leaf");
}

static void test_rails(void) {
  expect_tree(&(Tree){.leaves = 8, .spines = 4, .nodes = 4, .rails = 4},
              "nodes: 8 & gpus: 4 & nics-per-gpu: 1 & kind: rail-optimized & nodes-per-group: 4");
  expect_tree(&(Tree){.leaves = 4, .spines = 0, .nodes = 4, .rails = 4},
              "kind: rail-only & nodes-per-leaf: 4");
}

static void test_irregular(void) {
  expect_tree(&(Tree){.leaves = 4, .spines = 8, .nodes = 8, .skip = 5},
              "kind: custom & {switch: \"leaf0\", ports: 8} & {from: \"leaf1\", to: \"spine4\"} & "
              "written as cables");
  expect_tree(&(Tree){.leaves = 2, .spines = 0, .nodes = 2},
              "refused: & 2 parts that no cable joins & --choose SWITCH");
}

/* An adapter with one port on two ports of a switch: the second line is skipped. */
static void test_two_peers(void) {
  expect(
      "Switch\t4 \"S-1\" # \"a\"\n[1]\t\"H-2\"[1](1) # \"n1 m\" lid 1 4xNDR\n[2]\t\"H-2\"[1](1) # "
      "\"n1 m\" lid 1 4xNDR\n",
      "nodes: 1");
}

/* A leaf of storage nodes, which have one port where the others have four, is left out, and so are
 * its cables. */
static void test_other_hosts(void) {
  g_autofree char *rails =
      discover(&(Tree){.leaves = 8, .spines = 4, .nodes = 4, .rails = 4}, TRUE);
  g_autofree char *text =
      g_strconcat(rails,
                  "SW 1 1 0x99 4x NDR - CA 9 1 0xb1 ( 'storage' - 'ost1 mlx5_0' )\n"
                  "SW 1 2 0x99 4x NDR - CA 9 1 0xb2 ( 'storage' - 'ost2 mlx5_0' )\n"
                  "SW 1 3 0x99 4x NDR - SW 3 60 0xf000 ( 'storage' - 'spine0' )\n"
                  "SW 1 4 0x99 4x NDR - SW 3 60 0xf001 ( 'storage' - 'spine1' )\n",
                  NULL);
  expect(text,
         "nodes: 8 & kind: rail-optimized & - 2 hosts do not have the 4 ports that most have");
}

static void test_discover_refused(void) {
  expect("SW 479 22 0x0002c9 4x QDR  Infiniscale-IV\n", "refused: & 1 ports without a peer");
  expect("Switch\t64 \"S-1\" # \"a\"\n[1\t\"H-2\n",
         "refused: & :2:1: error: a port of ibnetdiscover");
}

static void test_node_and_fabric(void) {
  g_autofree char *inside = matrix(4, "NV18", "\t", TRUE);
  g_autofree char *outside =
      discover(&(Tree){.leaves = 8, .spines = 4, .nodes = 4, .rails = 4}, FALSE);
  g_autofree char *got = import_texts((const char *const[]){inside, outside, NULL},
                                      &(OrrTopologyAnswers){.device = "h200-sxm"});
  g_assert_nonnull(strstr(got, "kind: rail-optimized"));
  g_assert_nonnull(strstr(got, "device: h200-sxm"));
  g_assert_nonnull(strstr(got, "gpus: 4"));
  g_assert_null(strstr(got, "QUESTION"));
}

/* --- Slurm --- */

#define INFRAGRAPH                                                                                 \
  "devices:\n- name: server\n  components:\n  - {name: xpu, choice: xpu, count: 2, description: "  \
  "NVIDIA "                                                                                        \
  "H100 80GB HBM3}\n  - {name: nvsw, choice: switch}\n  - {name: nic, choice: nic, count: 2}\n"    \
  "  edges: [{ep1: {component: xpu}, ep2: {component: nvsw}, scheme: many2many}]\n"                \
  "- name: switch\n  components: [{name: port, choice: port, count: 8}]\n"                         \
  "instances: [{name: host, device: server, count: 4}, {name: leaf, device: switch}]\n"            \
  "links: [{name: eth, physical: {bandwidth: {gigabits_per_second: 200}}}]\n"

/* Four nodes of two GPUs on one switch of eight ports: NIC k is joined with port k. */
static void test_infragraph(void) {
  expect(INFRAGRAPH "edges: [{ep1: {instance: host, component: nic}, ep2: {instance: leaf, "
                    "component: port}, scheme: one2one, link: eth}]\n",
         "nodes: 4 & gpus: 2 & scale-up-domain: 2 & nic-bandwidth: 200 Gb/s");
  expect(INFRAGRAPH "edges: [{ep1: {instance: host, component: gpu}, ep2: {instance: leaf, "
                    "component: port}, scheme: one2one, link: eth}]\n",
         "refused: & :12:15: error: expected an instance and a component & 'gpu'");
  expect(INFRAGRAPH "edges: [{ep1: {instance: 'host[0:9]', component: nic}, ep2: {instance: leaf, "
                    "component: port}, scheme: one2one, link: eth}]\n",
         "refused: & within the counts, found 'host[0:9]'");
  expect(INFRAGRAPH "edges: [{ep1: {instance: host, component: nic}, ep2: {instance: host, "
                    "component: nic}, scheme: one2one, link: eth}]\n",
         "refused: & a cable from node to node");
  expect("devices: []\ninstances: []\n", "refused: & xpu, npu or gpu");
}

static void test_slurm_tree(void) {
  expect("SwitchName=leaf[x]\n", "refused: & has neither nodes nor switches");
  /* 4 nodes of 8 NICs below a leaf, 3 leaves */
  expect("# a comment\nswitchname=a NODES=n[00-03] LinkSpeed=9\nSwitchName=b \\\n  "
         "Nodes=n[04-05],n[06-07] # x\n"
         "SwitchName=c Nodes=m[1-2]x[1-2]\nSwitchName=r Switches=[a-c],a,b,c\n",
         "refused: & not a number");
  expect("SwitchName=s0 Nodes=n[00-03]\nSwitchName=s1 \\\n  Nodes=n[04-05],n[06-07] # x\n"
         "SwitchName=s2 Nodes=m[1-2]x[1-2] LinkSpeed=9\nSwitchName=r Switches=s[0-2]\n",
         "nodes: 12 & kind: clos & down: 32x3 & ? What joins the switches? & - LinkSpeed");
  expect("SwitchName=a Nodes=n[0-31]\nSwitchName=b Nodes=n[32-63]\nSwitchName=r Switches=a,b\n",
         "kind: rail-optimized & nodes-per-group: 32 & taken as a group of rails");
  expect("SwitchName=a Nodes=n0\nSwitchName=b Nodes=n[1-2]\nSwitchName=r Switches=a,b\n",
         "kind: custom & {switch: \"a\", ports: 8} & {from: \"b\", to: \"r\", count: 16}");
  expect("SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n2\nSwitchName=r Switches=a,b\n",
         "kind: clos & down: 16x2");
}

/* Two groups hang on the root, two on a switch below it: 2 of 4 leaves over one cable bundle. */
static void test_slurm_unbalanced(void) {
  expect(
      "SwitchName=root Switches=im[0],grp[3-4]\nSwitchName=im0 Switches=grp[1-2]\n"
      "SwitchName=grp1 Nodes=n[1-4]\nSwitchName=grp2 Nodes=n[5-8]\nSwitchName=grp3 "
      "Nodes=n[9-12]\nSwitchName=grp4 Nodes=n[13-16]\n",
      "nodes: 16 & kind: custom & {from: \"im0\", to: \"root\", count: 64} & {from: \"grp3\", to: "
      "\"root\", count: 32}");
}

/* scontrol show topology; lines of slurm.conf and prose beside the file's own. */
static void test_slurm_shown(void) {
  expect("SwitchName=leaf-01 Level=0 LinkSpeed=1 Nodes=w-[0-1]\nSwitchName=leaf-02 Level=0 "
         "LinkSpeed=1 Nodes=w-[2-3]\nSwitchName=root Level=1 LinkSpeed=1 Switches=leaf-[01-02] "
         "Nodes=w-[0-3]\n",
         "nodes: 4 & down: 16x2");
  expect("TopologyPlugin=topology/tree\nThe file is a=b here.\nSwitchName=a Nodes=n[0-3]\n",
         "nodes: 4 & down: 32");
}

static void test_slurm_refused(void) {
  expect("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "refused: & is below itself");
  expect("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", "refused: & hangs on another switch");
  expect("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n",
         "refused: & defined twice, first in line 1");
  expect("SwitchName=a Switches=b\n", "refused: & switch 'b', which is not defined");
  expect("SwitchName=a Nodes=n[0-999999999]\n", "refused: & more than 131072 hosts");
  expect("SwitchName=a Nodes=n[0-999][0-999][0-999]\n", "refused: & more than 131072 hosts");
  expect("SwitchName=a Nods=n1\n", "refused: & did you mean Nodes=?");
  expect("BlockName=a Nodes=n[1-2]\nBlockSizes=4\n", "refused: & fewer than the 4 of BlockSizes");
}

static void test_slurm_yaml(void) {
  const char *page = "Text.\n- topology: one\n  cluster_default: true\n  tree:\n    switches:\n"
                     "      - switch: s0\n        nodes: n[1-4]\n      - switch: s1\n"
                     "        nodes: n[5-8]\n      - switch: r\n        children: s[0-1]\n"
                     "- topology: two\n  block:\n    block_sizes: [2]\n    blocks:\n"
                     "      - block: b1\n        nodes: n[1-2]\n      - block: b2\n"
                     "        nodes: n[3-4]\n- topology: three\n  flat: true\nMore text.\n";
  expect(page, "refused: & 2 fabrics are described & 1 or one & 2 or two");
  expect_with(page, &(OrrTopologyAnswers){.choose = "one"}, "nodes: 8 & down: 32x2");
  expect_with(page, &(OrrTopologyAnswers){.choose = "two", .device = "gb200", .gpus = 4},
              "nodes: 4 & scale-up-domain: 8  # a block & kind: nvlink-domain");
  expect("- topology: a\n  tree:\n    switchs: []\n", "refused: & expected a map with a list");
  expect("- topology: a\n  flat: true\n", "refused: & expected 'tree:' or 'block:'");
}

static void expect_hosts(const char *list, const char *wanted) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) names = orr_dump_hostlist(list, 100, &error);
  if (names) g_ptr_array_add(names, NULL);
  g_autofree char *got = names ? g_strjoinv(" ", (char **)names->pdata) : g_strdup(error->message);
  if (!strstr(got, wanted)) g_error("%s: expected '%s' in '%s'", list, wanted, got);
  g_autofree char *again =
      names ? orr_dump_hostlist_text((const char *const *)names->pdata) : g_strdup("");
  g_autoptr(GPtrArray) back = names ? orr_dump_hostlist(again, 100, NULL) : NULL;
  g_assert_true(!names || back->len == names->len - 1);
  for (guint i = 0; back && i < back->len; i++)
    g_assert_cmpstr(back->pdata[i], ==, names->pdata[i]);
}

static void test_hostlist(void) {
  expect_hosts("a", "a");
  expect_hosts("n[08-11],m", "n08 n09 n10 n11 m");
  expect_hosts("r[1-2]n[1,3]", "r1n1 r1n3 r2n1 r2n3");
  expect_hosts("n[3-1]", "runs backwards");
  expect_hosts("n[1", "a '[' without ']'");
  expect_hosts("n1]", "a ']' without '['");
  expect_hosts("n[x]", "is not a number");
  expect_hosts("n[1-200]", "more than 100");
}

/* --- Other texts --- */

static void test_refused(void) {
  expect("", "refused: & no format of a topology is recognised");
  expect("Dear Sir, or Madam\n", "refused: & known: nvidia-smi & ibnetdiscover");
  expect("node01\nnode02\n", "refused: & neither a node nor a fabric");
  g_autofree char *links = matrix(4, "NV18", "\t", FALSE);
  expect_with(links, &(OrrTopologyAnswers){.device = "h200-sxn"},
              "refused: & did you mean 'h200-sxm'?");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/topology/matrix-page", test_matrix_page);
  g_test_add_func("/topology/matrix", test_matrix);
  g_test_add_func("/topology/matrix-meshes", test_matrix_meshes);
  g_test_add_func("/topology/matrix-damaged", test_matrix_damaged);
  g_test_add_func("/topology/matrix-uneven", test_matrix_uneven);
  g_test_add_func("/topology/several-machines", test_several_machines);
  g_test_add_func("/topology/peer-access-is-passed-over", test_peer_access_is_passed_over);
  g_test_add_func("/topology/names-around", test_names_around);
  g_test_add_func("/topology/lspci", test_lspci);
  g_test_add_func("/topology/adapters", test_adapters);
  g_test_add_func("/topology/xml", test_xml);
  g_test_add_func("/topology/xml-refused", test_xml_refused);
  g_test_add_func("/topology/fat-tree", test_fat_tree);
  g_test_add_func("/topology/rails", test_rails);
  g_test_add_func("/topology/irregular", test_irregular);
  g_test_add_func("/topology/discover-refused", test_discover_refused);
  g_test_add_func("/topology/other-hosts", test_other_hosts);
  g_test_add_func("/topology/two-peers", test_two_peers);
  g_test_add_func("/topology/one-gpu", test_one_gpu);
  g_test_add_func("/topology/node-and-fabric", test_node_and_fabric);
  g_test_add_func("/topology/infragraph", test_infragraph);
  g_test_add_func("/topology/slurm-tree", test_slurm_tree);
  g_test_add_func("/topology/slurm-refused", test_slurm_refused);
  g_test_add_func("/topology/slurm-shown", test_slurm_shown);
  g_test_add_func("/topology/slurm-unbalanced", test_slurm_unbalanced);
  g_test_add_func("/topology/xml-on-a-page", test_xml_on_a_page);
  g_test_add_func("/topology/slurm-yaml", test_slurm_yaml);
  g_test_add_func("/topology/hostlist", test_hostlist);
  g_test_add_func("/topology/refused", test_refused);
  return g_test_run();
}
