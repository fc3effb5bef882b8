/*
 * verb_import_topology.c - orrery import topology FILE...: dumps of a machine become a cluster.
 */
#include "sim/base/paths.h"
#include "sim/base/quantity.h"
#include "sim/base/number.h"
#include "sim/cli/verb_import.h"
#include "sim/import/topology/cluster_plan.h"

static char *name, *choose, *link_rate;
static gint64 nodes, gpus, nics, domain;
static double oversubscription;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("device", orr_verb_import_device, "NAME",
                    "The GPU, by its name in the library"),
    ORR_OPTION_INT64("nodes", nodes, "Nodes of the machine, or of it that jobs use"),
    ORR_OPTION_INT64("gpus-per-node", gpus, "GPUs of a node, if no dump shows them"),
    ORR_OPTION_INT64("nics-per-node", nics, "NICs of a node that carry traffic between nodes"),
    ORR_OPTION_TEXT("link-rate", link_rate, "RATE", "Rate of a NIC, e.g. '400 Gb/s'"),
    ORR_OPTION_INT64("scale-up-domain", domain, "GPUs that NVLink joins"),
    ORR_OPTION_REAL("oversubscription", oversubscription,
                    "Bandwidth below a leaf divided by that above it, if cables are not shown"),
    ORR_OPTION_TEXT(
        "choose", choose, "WHICH",
        "Of several machines, fabrics or parts of one: this (a number, a name, a switch)"),
    ORR_OPTION_TEXT("name", name, "NAME", "Name of the cluster"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    {NULL},
};

static gboolean check_count(const char *option, gint64 value, gint64 most, GError **error) {
  if (value >= 0 && value <= most) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "%s takes a whole number from 1 to %ld", option,
                       most);
}

/* A name is written into YAML: letters, digits, '-', '_' and '.'. */
static gboolean check_name(GError **error) {
  for (const char *at = name; at && *at; at++)
    if (!g_ascii_isalnum(*at) && *at != '-' && *at != '_' && *at != '.')
      return orr_fault_set(error, ORR_FAULT_USAGE,
                           "--name takes letters, digits, '-', '_' and '.'");
  return TRUE;
}

static gboolean check_answers(OrrTopologyAnswers *ret_answers, GError **error) {
  *ret_answers = (OrrTopologyAnswers){.device = orr_verb_import_device,
                                      .name = name,
                                      .choose = choose,
                                      .nodes = nodes,
                                      .gpus = gpus,
                                      .nics = nics,
                                      .domain = domain,
                                      .oversubscription = oversubscription};
  if (link_rate &&
      !orr_quantity_parse(link_rate, ORR_UNIT_BYTES_PER_S, &ret_answers->link_bytes_per_s, error)) {
    g_prefix_error(error, "--link-rate: ");
    return FALSE;
  }
  if (oversubscription != 0 && !(oversubscription >= 1 && oversubscription <= 1000))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--oversubscription takes a number from 1 to 1000");
  return check_name(error) && check_count("--nodes", nodes, 10000000, error) &&
         check_count("--gpus-per-node", gpus, 1024, error) &&
         check_count("--nics-per-node", nics, 1024, error) &&
         check_count("--scale-up-domain", domain, 1000000, error);
}

static void list(const char *what, const GPtrArray *lines) {
  for (guint i = 0; i < lines->len; i++)
    fprintf(stderr, "orrery: %s: %s\n", what, (char *)lines->pdata[i]);
}

/* The files, with "-" as standard input. */
static char **files_of(char **args) {
  char **files = g_strdupv(args);
  for (char **file = files; *file; file++) {
    if (!g_str_equal(*file, "-")) continue;
    g_free(*file);
    *file = g_strdup("/dev/stdin");
  }
  return files;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  g_auto(GStrv) files = files_of(args);
  OrrTopologyAnswers answers;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrDump) dump = orr_dump_new();
  if (!orr_cli_check_args(files, 1, 64, "import topology takes dumps of a machine", error) ||
      !orr_verb_import_check_paths(files, error) || !check_answers(&answers, error))
    return 2;
  for (char **file = files; *file; file++) orr_dump_read(dump, *file, diags);
  const gboolean is_wrong = orr_diags_n_errors(diags) > 0;
  orr_show_diags(diags);
  if (is_wrong) return 2;
  g_autoptr(OrrClusterPlan) plan = orr_cluster_plan_new(dump, &answers, files, library, error);
  if (!plan) return 2;
  list("left out", plan->notes);
  list("question", plan->questions);
  g_autofree char *text = orr_relative_text(plan->text, orr_options.output);
  return orr_verb_import_write(text, error);
}

const OrrCommand orr_verb_import_topology = {
    .verb = "topology",
    .sentence = "Dumps of a machine's topology become a cluster document.",
    .usage = "FILE... [--device NAME] [--nodes N] [--link-rate RATE] [-o FILE]",
    .more =
        "Reads nvidia-smi topo -m, NCCL's XML (NCCL_TOPO_DUMP_FILE), ibnetdiscover (also -p), "
        "ibstat, UFM's links, SONiC's config_db.json and show lldp table, Slurm's topology.conf "
        "and topology.yaml, lspci -tv, lstopo, and a list of hosts. - is standard input. Several "
        "files are joined: a node from the inside, the fabric from the outside.\n"
        "A fabric is written as a fat-tree or as rails where counting shows that it is one, "
        "otherwise as switches and cables by name.\n"
        "What the dumps do not show is assumed, marked in the document and listed on stderr as "
        "questions, each with the option that answers it.",
    .options = options,
    .run = run,
};
