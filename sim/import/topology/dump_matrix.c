/*
 * dump_matrix.c - `nvidia-smi topo -m`: a matrix of GPUs and NICs.
 *
 *         GPU0  GPU1  NIC0  CPU Affinity  NUMA Affinity  GPU NUMA ID
 *   GPU0   X    NV18  PIX   0-55,112-167  0              N/A
 *   GPU1  NV18   X    NODE  0-55,112-167  0              N/A
 *   NIC0  PIX   NODE   X
 *
 *   NIC Legend:
 *     NIC0: mlx5_0
 *
 * Cells: X itself; NV# that number of NVLinks; PIX, PXB (PSB in old versions) under one PCIe
 * switch; PHB under one host bridge; NODE, SYS (SOC) further. The columns after the devices are
 * optional, and so are the NICs, whose columns can bear their names (mlx5_0). Cells are separated
 * by tabs, blanks or the bars of a Markdown table; a line may begin with mpirun's or srun's label.
 *
 * A matrix whose cells are OK, NS, CNS ... is `topo -p2p`, which says nothing about links: it is
 * passed over. `topo -mp` hides NVLink: a matrix without any NV# under GPUs that have NVLink looks
 * like one of PCIe alone.
 *
 * Source: nvidia-smi's manual, "topo"; the legend that it prints.
 */
#include "sim/import/topology/dump.h"

typedef enum { NO_CELL, SELF, NVLINK, SWITCH, BRIDGE, PEER } Cell;

typedef struct {
  const OrrDumpText *text;
  OrrDump *dump;
  OrrDiags *diags;
} Reader;

/* A matrix as its header has it. */
typedef struct {
  OrrDumpNode *node;
  GPtrArray *columns; /* char*: names of devices */
  gboolean *is_gpu;
  guint *rank;      /* the number of a column among GPUs, or among NICs */
  gboolean *seen;   /* whether the row was read */
  gboolean is_peer; /* topo -p2p */
  guint line;       /* of the header */
} Matrix;

static gboolean is_gpu_name(const char *word) {
  return g_str_has_prefix(word, "GPU") && g_ascii_isdigit(word[3]) &&
         strspn(word + 3, "0123456789") == strlen(word + 3) && strlen(word) < 9;
}

static Cell cell_of(const char *word, guint *ret_links) {
  static const struct {
    const char *word;
    Cell cell;
  } words[] = {{"X", SELF},     {"PIX", SWITCH},  {"PXB", SWITCH}, {"PSB", SWITCH},
               {"PHB", BRIDGE}, {"NODE", BRIDGE}, {"SYS", BRIDGE}, {"SOC", BRIDGE},
               {"QPI", BRIDGE}, {"OK", PEER},     {"NS", PEER},    {"CNS", PEER},
               {"GNS", PEER},   {"TNS", PEER},    {"DR", PEER},    {"U", PEER}};
  *ret_links = 0;
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (strcmp(word, words[i].word) == 0) return words[i].cell;
  if (!g_str_has_prefix(word, "NV") || !g_ascii_isdigit(word[2]) || strlen(word) > 5)
    return NO_CELL;
  *ret_links = (guint)g_ascii_strtoull(word + 2, NULL, 10);
  return strspn(word + 2, "0123456789") == strlen(word + 2) && *ret_links < 1000 ? NVLINK : NO_CELL;
}

/* Words without the bars, stars and back-quotes of Markdown, and without the label of a launcher
 * before them ("0:", "[1,0]<stdout>:"). */
static char **plain_words(const char *line, guint **ret_columns) {
  g_autofree char *copy = g_strdup(line);
  guint first = 0;
  g_strdelimit(copy, "|*`", ' ');
  char **words = orr_dump_words(copy, ret_columns);
  while (words[first] && !is_gpu_name(words[first]) && first < 2 &&
         (g_str_has_suffix(words[first], ":") || strcmp(words[first], ">") == 0))
    first++;
  if (first == 0 || !words[first] || !is_gpu_name(words[first])) return words;
  for (guint i = 0; i < first; i++) g_free(words[i]);
  for (guint i = 0; i == 0 || words[first + i - 1]; i++) {
    words[i] = words[first + i];
    if (words[i]) (*ret_columns)[i] = (*ret_columns)[first + i];
  }
  return words;
}

/* What follows the names of devices: "CPU Affinity", "NUMA Affinity", "GPU NUMA ID". */
static gboolean is_end(const char *word) {
  static const char *const ends[] = {"CPU", "NUMA", "GPU", "Affinity", NULL};
  return g_strv_contains(ends, word);
}

/* Devices, whose names end in digits, the first of them a GPU; then the affinities, or at least
 * another GPU. */
static gboolean is_header(char **words) {
  guint links, n_gpus = 0, n = 0;
  for (; words[n] && !is_end(words[n]); n++) {
    const gsize length = strlen(words[n]);
    if (cell_of(words[n], &links) != NO_CELL || !g_ascii_isdigit(words[n][length - 1]))
      return FALSE;
    n_gpus += is_gpu_name(words[n]);
  }
  return n > 0 && is_gpu_name(words[0]) && (n_gpus > 1 || (words[n] && n_gpus > 0));
}

static gboolean recognise(const OrrDumpText *text) {
  if (strstr(text->text, "Link Type between two GPUs")) return FALSE; /* rocm-smi's */
  for (guint i = 0; i < text->n_lines; i++) {
    g_autofree guint *columns = NULL;
    g_auto(GStrv) words = plain_words(text->lines[i], &columns);
    if (is_header(words)) return TRUE;
  }
  return FALSE;
}

/* --- A header --- */

static void add_columns(Matrix *matrix, char **words) {
  for (guint i = 0; words[i] && !is_end(words[i]); i++)
    g_ptr_array_add(matrix->columns, g_strdup(words[i]));
}

static gboolean check_columns(const Reader *reader, const Matrix *matrix, const guint *columns) {
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  if (matrix->columns->len > ORR_DUMP_MAX_GPUS) {
    orr_diags_error(reader->diags, orr_dump_place(reader->text, matrix->line, 1),
                    "%u devices in one matrix: a node has at most %d", matrix->columns->len,
                    ORR_DUMP_MAX_GPUS);
    return FALSE;
  }
  for (guint i = 0; i < matrix->columns->len; i++)
    if (!g_hash_table_add(seen, matrix->columns->pdata[i])) {
      orr_diags_error(reader->diags, orr_dump_place(reader->text, matrix->line, columns[i]),
                      "the header names %s twice", (char *)matrix->columns->pdata[i]);
      return FALSE;
    }
  return TRUE;
}

static void add_devices(Matrix *matrix) {
  const guint n = matrix->columns->len;
  guint n_gpus = 0;
  matrix->is_gpu = g_new0(gboolean, n);
  matrix->seen = g_new0(gboolean, n);
  matrix->rank = g_new0(guint, n);
  for (guint i = 0; i < n; i++) {
    matrix->is_gpu[i] = is_gpu_name(matrix->columns->pdata[i]);
    if (matrix->is_gpu[i])
      orr_dump_node_add_gpu(matrix->node, matrix->columns->pdata[i])->kind.nvlinks_known = TRUE;
    else
      orr_dump_node_add_nic(matrix->node, matrix->columns->pdata[i]);
    matrix->rank[i] = matrix->is_gpu[i] ? n_gpus : i - n_gpus;
    n_gpus += matrix->is_gpu[i];
  }
  matrix->node->nvlink = g_new0(guint16, (gsize)n_gpus * n_gpus);
  matrix->node->has_pcie = TRUE;
}

static int column_of(const Matrix *matrix, const char *name) {
  for (guint i = 0; i < matrix->columns->len; i++)
    if (strcmp(matrix->columns->pdata[i], name) == 0) return (int)i;
  return -1;
}

/* --- Rows --- */

static int *pcie_of(const Matrix *matrix, guint i) {
  const guint rank = matrix->rank[i];
  return matrix->is_gpu[i] ? &orr_dump_gpu(matrix->node, rank)->pcie
                           : &orr_dump_nic(matrix->node, rank)->pcie;
}

/* Two devices under one PCIe switch: the switch bears the number of the device that named it. */
static void join(const Matrix *matrix, guint a, guint b) {
  int *of_a = pcie_of(matrix, a), *of_b = pcie_of(matrix, b);
  const int from = *of_b, to = *of_a >= 0 ? *of_a : *of_b >= 0 ? *of_b : (int)a;
  for (guint i = 0; from >= 0 && from != to && i < matrix->columns->len; i++)
    if (*pcie_of(matrix, i) == from) *pcie_of(matrix, i) = to;
  *of_a = *of_b = to;
  if (matrix->is_gpu[a] != matrix->is_gpu[b])
    orr_dump_nic(matrix->node, matrix->rank[matrix->is_gpu[a] ? b : a])->beside_gpu = TRUE;
}

static void set_links(const Matrix *matrix, guint row, guint column, guint links) {
  const guint n = matrix->node->gpus->len, a = matrix->rank[row], b = matrix->rank[column];
  matrix->node->nvlink[a * n + b] = (guint16)links;
}

/* Reads the cells of row @row; FALSE where one is not a cell. */
static gboolean read_cells(const Reader *reader, Matrix *matrix, guint row, char **words,
                           const guint *columns, guint line) {
  const guint n = matrix->columns->len, n_words = g_strv_length(words);
  for (guint i = 0; i < n; i++) {
    guint links = 0;
    const Cell cell = i + 1 < n_words ? cell_of(words[i + 1], &links) : NO_CELL;
    const gboolean right = cell != NO_CELL && (cell == SELF) == (i == row);
    if (cell == PEER) matrix->is_peer = TRUE;
    if (!right && !matrix->is_gpu[row]) { /* the columns of NICs say the same */
      orr_diags_warning(reader->diags, orr_dump_place(reader->text, line, 1),
                        "row %s is cut off or damaged: its column counts",
                        (char *)matrix->columns->pdata[row]);
      return FALSE;
    }
    if (!right && i + 1 >= n_words) {
      orr_diags_error(reader->diags, orr_dump_place(reader->text, line, 1),
                      "row %s ends after %u of %u cells: expected one for %s, as in line %u",
                      (char *)matrix->columns->pdata[row], n_words - 1, n,
                      (char *)matrix->columns->pdata[i], matrix->line);
      return FALSE;
    }
    if (!right) {
      orr_diags_error(reader->diags, orr_dump_place(reader->text, line, columns[i + 1]),
                      "cell %s of row %s is '%s': expected %s", (char *)matrix->columns->pdata[i],
                      (char *)matrix->columns->pdata[row], words[i + 1],
                      i == row ? "X, itself" : "NV#, PIX, PXB, PHB, NODE or SYS");
      return FALSE;
    }
    if (cell == NVLINK && matrix->is_gpu[row] && matrix->is_gpu[i])
      set_links(matrix, row, i, links);
    if (cell == SWITCH) join(matrix, row, i);
  }
  return TRUE;
}

static gboolean is_number(const char *word) {
  return *word && strlen(word) < 6 && strspn(word, "0123456789") == strlen(word);
}

/* What follows the cells: CPU affinity, NUMA affinity, the GPU's own NUMA node. The affinity can be
 * missing or damaged, so the first plain number counts, unless it is the affinity of one core. */
static void read_numa(Matrix *matrix, guint row, char **words) {
  const guint n = matrix->columns->len, n_words = g_strv_length(words);
  const guint first = n + 1;
  const char *word = n_words > first + 1 ? words[first + 1] : NULL;
  if (!matrix->is_gpu[row]) return;
  if (word && is_number(word))
    orr_dump_gpu(matrix->node, matrix->rank[row])->numa = (int)g_ascii_strtoll(word, NULL, 10);
}

static void read_row(const Reader *reader, Matrix *matrix, char **words, const guint *columns,
                     guint line) {
  const int row = column_of(matrix, words[0]);
  if (row < 0) {
    if (is_gpu_name(words[0]))
      orr_diags_error(reader->diags, orr_dump_place(reader->text, line, columns[0]),
                      "row %s has no column in the header of line %u", words[0], matrix->line);
    return;
  }
  if (matrix->seen[row]) return; /* repeated: another rank printed it, too */
  matrix->seen[row] = TRUE;
  if (read_cells(reader, matrix, (guint)row, words, columns, line))
    read_numa(matrix, (guint)row, words);
}

/* --- Names of NICs --- */

/* "NIC0: mlx5_0" below a matrix. */
static void read_legend(const Matrix *matrix, char **words) {
  const gsize n = words[0] && words[1] && !words[2] ? strlen(words[0]) : 0;
  if (n < 2 || words[0][n - 1] != ':' || !g_str_has_prefix(words[0], "NIC")) return;
  words[0][n - 1] = 0;
  for (guint i = 0; i < matrix->node->nics->len; i++) {
    OrrDumpNic *nic = orr_dump_nic(matrix->node, i);
    if (strcmp(nic->name, words[0]) != 0) continue;
    g_free(nic->name);
    nic->name = g_strdup(words[1]);
    return;
  }
}

/* --- The whole --- */

/* The NVLinks of each GPU. Over NVSwitch every pair shows all links of a GPU; direct links show the
 * pair's, and add up to at most MOST_LINKS, what a GPU has today. */
static void add_up_links(OrrDumpNode *node) {
  enum { MOST_LINKS = 18 };
  const guint n = node->gpus->len;
  for (guint a = 0; a < n; a++) {
    guint most = 0, sum = 0;
    for (guint b = 0; b < n; b++) {
      most = MAX(most, node->nvlink[a * n + b]);
      sum += node->nvlink[a * n + b];
    }
    orr_dump_gpu(node, a)->kind.nvlinks = sum <= MOST_LINKS ? sum : most;
  }
}

static void close_matrix(const Reader *reader, Matrix *matrix) {
  if (!matrix->node) return;
  for (guint i = 0; i < matrix->columns->len && !matrix->is_peer; i++)
    if (matrix->is_gpu[i] && !matrix->seen[i])
      orr_diags_error(reader->diags, orr_dump_place(reader->text, matrix->line, 1),
                      "%s of this header has no row: the matrix is cut off or damaged",
                      (char *)matrix->columns->pdata[i]);
  add_up_links(matrix->node);
  if (matrix->is_peer) {
    orr_dump_note(reader->dump,
                  "line %u: a matrix of peer access (topo -p2p) says nothing about "
                  "links and is passed over",
                  matrix->line);
    g_ptr_array_remove(reader->dump->nodes, matrix->node);
  }
  ORR_FREE(matrix->is_gpu, matrix->seen, matrix->rank);
  g_ptr_array_unref(matrix->columns);
  *matrix = (Matrix){0};
}

static void open_matrix(const Reader *reader, Matrix *matrix, char **words, const guint *columns,
                        guint line) {
  close_matrix(reader, matrix);
  matrix->columns = g_ptr_array_new_with_free_func(g_free);
  matrix->line = line;
  add_columns(matrix, words);
  if (!check_columns(reader, matrix, columns)) {
    g_clear_pointer(&matrix->columns, g_ptr_array_unref);
    return;
  }
  matrix->node = orr_dump_add_node(reader->dump, "nvidia-smi topo -m",
                                   orr_dump_place(reader->text, line, columns[0]));
  add_devices(matrix);
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  const Reader reader = {text, dump, diags};
  Matrix matrix = {0};
  for (guint i = 0; i < text->n_lines && orr_diags_n_errors(diags) < 20; i++) {
    g_autofree guint *columns = NULL;
    g_auto(GStrv) words = plain_words(text->lines[i], &columns);
    if (is_header(words))
      open_matrix(&reader, &matrix, words, columns, i + 1);
    else if (matrix.node && words[0] && words[1] &&
             (is_gpu_name(words[0]) || column_of(&matrix, words[0]) >= 0))
      read_row(&reader, &matrix, words, columns, i + 1);
    else if (matrix.node)
      read_legend(&matrix, words);
  }
  close_matrix(&reader, &matrix);
}

const OrrDumpReader orr_dump_matrix = {
    .name = "topo-matrix",
    .sentence = "the matrix of nvidia-smi topo -m",
    .recognise = recognise,
    .read = read_text,
};
