/*
 * dump.h - what dumps of a machine's topology say: nodes (GPUs, NVLink, NICs, PCIe) and fabrics
 * (switches, cables, and which node hangs on which switch).
 *
 *   files --orr_dump_read--> OrrDump --orr_plan_cluster (plan.h)--> a cluster document
 *
 * Each format is one file with one `const OrrDumpReader`; dump.c has the array. A reader adds what
 * its format states and nothing else: what no dump states stays 0, NULL or -1, and the plan turns
 * it into a question. Findings go to the diagnostics with their line; an error refuses the import.
 *
 * Limits, so that no text takes more than seconds or a few hundred megabytes: files of
 * ORR_DUMP_MAX_BYTES, and the counts below.
 */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/library.h"

#define ORR_DUMP_MAX_BYTES ((gsize)64 << 20)

enum {
  ORR_DUMP_MAX_GPUS = 1024,      /* of a node, as in a cluster document */
  ORR_DUMP_MAX_NICS = 1024,      /* of a node */
  ORR_DUMP_MAX_SWITCHES = 16384, /* of a fabric */
  ORR_DUMP_MAX_PORTS = 1 << 20,  /* NIC ports of a fabric */
  ORR_DUMP_MAX_HOSTS = 1 << 17,  /* that lists expand to */
  ORR_DUMP_MAX_FABRICS = 16,
  ORR_DUMP_MAX_LINES = 2000000,
  ORR_DUMP_MAX_LINE = 1 << 20
};

/* The text of a file: lines without carriage returns and terminal colours. */
typedef struct {
  const char *file; /* interned */
  char *text;       /* the whole file */
  gsize length;
  char **lines;
  guint n_lines;
} OrrDumpText;

/* What a GPU shows of its kind. Zero, NULL: not shown. */
typedef struct {
  char *name;             /* "NVIDIA H100 80GB HBM3" */
  guint32 vendor, id;     /* PCI: 0x10de, 0x2330 */
  int sm;                 /* NVIDIA compute capability: 90; AMD: not set */
  char *gcn;              /* AMD: "gfx942" */
  double pcie_gt_per_s;   /* of a lane: 32 is Gen5 */
  guint nvlinks;          /* of the whole GPU */
  gboolean nvlinks_known; /* FALSE: the dump does not show NVLinks at all */
} OrrDumpKind;

typedef struct {
  char *id; /* "GPU3", or the bus id */
  OrrDumpKind kind;
  int numa; /* -1: not known */
  int pcie; /* number of the PCIe switch above it; -1: none, or not known */
} OrrDumpGpu;

typedef struct {
  char *name;           /* "mlx5_0" */
  double bytes_per_s;   /* of all its ports, one direction; 0: not known */
  double pcie_gt_per_s; /* of a lane; 0: not known */
  int ports;
  int numa, pcie;      /* as a GPU's */
  gboolean beside_gpu; /* shares a PCIe switch with a GPU */
} OrrDumpNic;

/* One machine from the inside. */
typedef struct {
  OrrPlace place;
  const char *format; /* the reader's name */
  char *label;        /* how a user can name it, e.g. the host's hash; may be NULL */
  GArray *gpus;       /* of OrrDumpGpu */
  GArray *nics;       /* of OrrDumpNic */
  guint16 *nvlink;    /* gpus x gpus: NVLinks between two; G_MAXUINT16: over NVLink switches */
  gboolean has_pcie;  /* PCIe switches and NUMA nodes are shown */
} OrrDumpNode;

typedef struct {
  char *name;
  gint64 radix; /* its ports; 0: not known */
} OrrDumpSwitch;

/* Cables between two switches. */
typedef struct {
  guint a, b;
  gint64 count;       /* 0: not known (a scheduler's tree) */
  double bytes_per_s; /* of one cable, one direction; 0: not known */
} OrrDumpCable;

/* A NIC's port on a switch. */
typedef struct {
  char *node, *nic; /* nic: NULL where a scheduler names whole nodes */
  char *guid;       /* of the adapter, hex; NULL: not known */
  guint at;         /* the switch */
  double bytes_per_s;
} OrrDumpPort;

/* A network from the outside. */
typedef struct {
  OrrPlace place;
  const char *format;
  char *label;
  GArray *switches, *cables, *ports;
  GHashTable *by_name; /* switch name -> index + 1; names are owned by switches */
  gboolean is_tree;    /* a scheduler's: switches stand for levels, cables are not counted */
  gint64 block;        /* nodes of a block (NVLink domain) in Slurm's topology/block; 0: none */
} OrrDumpFabric;

typedef struct {
  GPtrArray *nodes;   /* OrrDumpNode */
  GPtrArray *fabrics; /* OrrDumpFabric */
  GArray *kinds;      /* of OrrDumpKind: GPUs that a text names without a matrix */
  GPtrArray *hosts;   /* char*: nodes of a host file; NULL: there is none */
  GHashTable *guids;  /* node GUID or port GUID (hex) -> host name, from ibstat; owned strings */
  double nic_bytes_per_s; /* from ibstat; 0: not seen */
  int n_ib_nics;          /* of one host, from ibstat; 0: not seen */
  GPtrArray *notes;       /* char*: what was read and left out, and why */
} OrrDump;

typedef struct {
  const char *name;     /* mandatory: "ibnetdiscover" */
  const char *sentence; /* mandatory: what writes it */
  /* mandatory: whether the text has this format; cheap, and never wrong about another's */
  gboolean (*recognise)(const OrrDumpText *text);
  /* mandatory: adds what the text says */
  void (*read)(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags);
} OrrDumpReader;

extern const OrrDumpReader *const orr_dump_readers[]; /* in the order that they are tried; NULL */

OrrDump *orr_dump_new(void);
void orr_dump_free(OrrDump *dump);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrDump, orr_dump_free)

/* The reader of the format that the file at @path has; NULL: none, or a list of hosts, which any
 * text could be. */
const OrrDumpReader *orr_dump_reader_of(const char *path);
/* Whether the text is of a program that is named and not read. */
gboolean orr_dump_is_foreign(const char *text);
/* Reads the file at @path into @dump with every reader that recognises it. Errors go to @diags. */
void orr_dump_read(OrrDump *dump, const char *path, OrrDiags *diags);
/* The same with @reader alone, whether it recognises the text or not. */
void orr_dump_read_as(OrrDump *dump, const OrrDumpReader *reader, const char *path,
                      OrrDiags *diags);

/* --- For readers --- */

OrrPlace orr_dump_place(const OrrDumpText *text, guint line, guint column); /* both from 1 */
void orr_dump_note(OrrDump *dump, const char *format, ...) G_GNUC_PRINTF(2, 3);

OrrDumpNode *orr_dump_add_node(OrrDump *dump, const char *format, OrrPlace place);
OrrDumpGpu *orr_dump_node_add_gpu(OrrDumpNode *node, const char *id);
OrrDumpNic *orr_dump_node_add_nic(OrrDumpNode *node, const char *name);

OrrDumpFabric *orr_dump_add_fabric(OrrDump *dump, const char *format, OrrPlace place);
/* The switch of that name, made where it is new; G_MAXUINT beyond ORR_DUMP_MAX_SWITCHES. */
guint orr_dump_fabric_switch(OrrDumpFabric *fabric, const char *name);
void orr_dump_fabric_cable(OrrDumpFabric *fabric, guint a, guint b, gint64 count,
                           double bytes_per_s);
OrrDumpPort *orr_dump_fabric_port(OrrDumpFabric *fabric, const char *node, const char *nic,
                                  guint at, double bytes_per_s);

static inline OrrDumpGpu *orr_dump_gpu(const OrrDumpNode *node, guint i) {
  return &g_array_index(node->gpus, OrrDumpGpu, i);
}

static inline OrrDumpNic *orr_dump_nic(const OrrDumpNode *node, guint i) {
  return &g_array_index(node->nics, OrrDumpNic, i);
}

/* Words of a line with the column (from 1) at which each starts. NULL-terminated; @ret_columns (may
 * be NULL) is newly allocated. */
char **orr_dump_words(const char *line, guint **ret_columns);

/* "400 Gb/s" of InfiniBand: @lanes lanes of @speed ("EDR"; "FDR10"; "25.78125 Gbps"), in bytes/s;
 * 0: unknown. InfiniBand Trade Association, roadmap; data rates after encoding. */
double orr_dump_ib_rate(int lanes, const char *speed);

/* dump_hostlist.c: Slurm's host lists: "node[01-03,7],login1", "r[1-2]n[01-16]".
 *
 * Every pair of brackets is a dimension: the last varies fastest. Numbers keep their leading
 * zeros. A list is expanded up to a limit, which the caller sets: [0-999999999] is refused, not
 * expanded.
 *
 * Source: Slurm, src/common/hostlist.c; scontrol show hostnames. */

/* The names in @text (char*, owned). NULL with ORR_FAULT_DOCUMENT: brackets that do not pair, a
 * range that runs backwards or holds no number, more than @max names. */
GPtrArray *orr_dump_hostlist(const char *text, guint max, GError **error);

/* The shortest list of names that expands to them in the same order: "n[0-3],n[6-7]". */
char *orr_dump_hostlist_text(const char *const *names);

/* dump_slurm.c: a tree of switches or a list of blocks, as both of Slurm's files have it.
 *
 * Switches are named before or after their children. At the end the tree becomes an OrrDumpFabric
 * whose cables have no count: a parent joins its children, nothing says with how many. */

typedef struct OrrSlurmTree OrrSlurmTree;
struct OrrSlurmTree {
  const char *format;
  char *label; /* the topology's name, or NULL */
  OrrPlace place;
  GPtrArray *switches; /* of what orr_slurm_tree_add was given, copied */
  gint64 block;        /* BlockSizes' first; 0: none */
};

typedef struct {
  const char *name;
  const char *nodes, *switches; /* host lists; NULL: none */
  gboolean is_block;
  OrrPlace place;
} OrrSlurmSwitch;

OrrSlurmTree *orr_slurm_tree_new(const char *format, OrrPlace place);
void orr_slurm_tree_free(OrrSlurmTree *tree);
/* Copies @made; refuses a name that exists. */
void orr_slurm_tree_add(OrrSlurmTree *tree, const OrrSlurmSwitch *made, OrrDiags *diags);
guint orr_slurm_tree_size(const OrrSlurmTree *tree);
gboolean orr_slurm_tree_is_block(const OrrSlurmTree *tree);
/* Adds the tree to @dump, and frees it. Refused: a switch with two parents or within itself, a node
 * under two leaves, children that are not defined, more names than the limits allow. */
void orr_slurm_tree_close(OrrSlurmTree *tree, OrrDump *dump, OrrDiags *diags);
