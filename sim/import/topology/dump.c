/*
 * dump.c - the readers, and the facts that they add to.
 */
#include "sim/import/topology/dump.h"

#include <stdarg.h>

#include "sim/base/file.h"

extern const OrrDumpReader orr_dump_gpu_names, orr_dump_host_file, orr_dump_iblinkinfo,
    orr_dump_ibnetdiscover, orr_dump_rocm_smi, orr_dump_ibstat, orr_dump_lspci, orr_dump_lstopo,
    orr_dump_matrix, orr_dump_infragraph, orr_dump_nccl_xml, orr_dump_simai, orr_dump_slurm_conf,
    orr_dump_slurm_yaml, orr_dump_sonic, orr_dump_ufm;

/* A text can hold several (nvidia-smi's table above its matrix); the host file's form is so loose
 * that it is tried where no other is recognised. */
const OrrDumpReader *const orr_dump_readers[] = {&orr_dump_gpu_names,
                                                 &orr_dump_ibnetdiscover,
                                                 &orr_dump_ibstat,
                                                 &orr_dump_lspci,
                                                 &orr_dump_matrix,
                                                 &orr_dump_nccl_xml,
                                                 &orr_dump_slurm_conf,
                                                 &orr_dump_slurm_yaml,
                                                 &orr_dump_iblinkinfo,
                                                 &orr_dump_rocm_smi,
                                                 &orr_dump_simai,
                                                 &orr_dump_infragraph,
                                                 &orr_dump_lstopo,
                                                 &orr_dump_sonic,
                                                 &orr_dump_ufm,
                                                 &orr_dump_host_file,
                                                 NULL};

/* --- Life --- */

static void clear_gpu(gpointer data) {
  OrrDumpGpu *gpu = data;
  g_free(gpu->id);
  g_free(gpu->kind.name);
  g_free(gpu->kind.gcn);
}

static void clear_nic(gpointer data) { g_free(((OrrDumpNic *)data)->name); }

static void clear_switch(gpointer data) { g_free(((OrrDumpSwitch *)data)->name); }

static void clear_port(gpointer data) {
  OrrDumpPort *port = data;
  g_free(port->node);
  g_free(port->nic);
  g_free(port->guid);
}

static void clear_kind(gpointer data) {
  OrrDumpKind *kind = data;
  g_free(kind->name);
  g_free(kind->gcn);
}

static void node_free(gpointer data) {
  OrrDumpNode *node = data;
  g_free(node->label);
  g_array_unref(node->gpus);
  g_array_unref(node->nics);
  g_free(node->nvlink);
  g_free(node);
}

static void fabric_free(gpointer data) {
  OrrDumpFabric *fabric = data;
  g_free(fabric->label);
  g_hash_table_unref(fabric->by_name);
  g_array_unref(fabric->switches);
  g_array_unref(fabric->cables);
  g_array_unref(fabric->ports);
  g_free(fabric);
}

static GArray *array_of(gsize size, GDestroyNotify clear) {
  GArray *array = g_array_new(FALSE, TRUE, (guint)size);
  if (clear) g_array_set_clear_func(array, clear);
  return array;
}

OrrDump *orr_dump_new(void) {
  OrrDump *dump = g_new0(OrrDump, 1);
  dump->nodes = g_ptr_array_new_with_free_func(node_free);
  dump->fabrics = g_ptr_array_new_with_free_func(fabric_free);
  dump->kinds = array_of(sizeof(OrrDumpKind), clear_kind);
  dump->guids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  dump->notes = g_ptr_array_new_with_free_func(g_free);
  return dump;
}

void orr_dump_free(OrrDump *dump) {
  if (!dump) return;
  g_ptr_array_unref(dump->nodes);
  g_ptr_array_unref(dump->fabrics);
  g_array_unref(dump->kinds);
  g_clear_pointer(&dump->hosts, g_ptr_array_unref);
  g_hash_table_unref(dump->guids);
  g_ptr_array_unref(dump->notes);
  g_free(dump);
}

/* --- Text --- */

/* "[4m" and "[0m" of a page that has lost the ESC in front: how many letters; 0: another text. */
static gsize bare_sequence(const char *line, gsize left) {
  return left >= 3 && line[0] == '[' && strchr("014", line[1]) && line[2] == 'm' ? 3 : 0;
}

/* Copies @line without "\r" and terminal sequences ("ESC [ 4 m"). */
static char *plain_line(const char *line, gsize n) {
  GString *text = g_string_sized_new(n);
  for (gsize i = 0; i < n; i++) {
    if (line[i] == '\033' && i + 1 < n && line[i + 1] == '[') {
      for (i += 2; i < n && !g_ascii_isalpha(line[i]); i++) {
      }
    } else if (bare_sequence(line + i, n - i) > 0) {
      i += bare_sequence(line + i, n - i) - 1;
    } else if (line[i] != '\r' && line[i] != '\033') {
      g_string_append_c(text, line[i]);
    }
  }
  return g_string_free(text, FALSE);
}

/* A line beyond ORR_DUMP_MAX_LINE is empty here, as no dump has one; FALSE: too many lines. */
static gboolean split_lines(OrrDumpText *text) {
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  const char *at = text->text, *end = text->text + text->length;
  while (at < end && lines->len < ORR_DUMP_MAX_LINES) {
    const char *stop = memchr(at, '\n', (gsize)(end - at));
    if (!stop) stop = end;
    const gsize n = (gsize)(stop - at);
    g_ptr_array_add(lines, n > ORR_DUMP_MAX_LINE ? g_strdup("") : plain_line(at, n));
    at = stop + 1;
  }
  if (at < end) return FALSE;
  text->n_lines = lines->len;
  g_ptr_array_add(lines, NULL);
  g_ptr_array_set_free_func(lines, NULL);
  text->lines = (char **)g_ptr_array_free(g_steal_pointer(&lines), FALSE);
  return TRUE;
}

static gboolean load(OrrDumpText *text, const char *path, OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  text->file = g_intern_string(path);
  text->text = orr_file_read(path, ORR_DUMP_MAX_BYTES, &text->length, &error);
  if (!text->text) {
    orr_diags_error(diags, (OrrPlace){text->file, 0, 0, NULL}, "%s", error->message);
    return FALSE;
  }
  if (g_str_has_prefix(text->text, "\xef\xbb\xbf")) memset(text->text, ' ', 3);
  if (memchr(text->text, 0, text->length)) {
    orr_diags_error(diags, (OrrPlace){text->file, 0, 0, NULL},
                    "this is not text: it holds a byte 0 (UTF-16 and binary files are not read)");
    return FALSE;
  }
  if (split_lines(text)) return TRUE;
  orr_diags_error(diags, (OrrPlace){text->file, ORR_DUMP_MAX_LINES, 0, NULL},
                  "more than %d lines: no dump of a topology has that many", ORR_DUMP_MAX_LINES);
  return FALSE;
}

/* Programs that are named and not read, by words that only they write. */
static const struct {
  const char *words, *name, *instead;
} foreign[] = {
    {"ROCm System Management", "rocm-smi", "NCCL_TOPO_DUMP_FILE's XML, which RCCL writes"},
    {"amd-smi topology", "amd-smi", "NCCL_TOPO_DUMP_FILE's XML, which RCCL writes"},
    {"ibdiagnet", "ibdiagnet", "what ibnetdiscover prints"},
    {"LLDP neighbors", "lldpctl", "your switches as a document (topologies/README.md)"}};

gboolean orr_dump_is_foreign(const char *text) {
  for (guint i = 0; i < G_N_ELEMENTS(foreign); i++)
    if (strstr(text, foreign[i].words)) return TRUE;
  return FALSE;
}

static void refuse(const OrrDumpText *text, OrrDiags *diags) {
  g_autoptr(GString) known = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(foreign); i++) {
    if (!strstr(text->text, foreign[i].words)) continue;
    orr_diags_error(diags, orr_dump_place(text, text->n_lines > 0 ? 1 : 0, 1),
                    "this is of %s, which is not read: give %s", foreign[i].name,
                    foreign[i].instead);
    return;
  }
  for (guint i = 0; orr_dump_readers[i]; i++)
    g_string_append_printf(known, "%s%s", i ? "; " : "", orr_dump_readers[i]->sentence);
  orr_diags_error(diags, orr_dump_place(text, text->n_lines > 0 ? 1 : 0, 1),
                  "no format of a topology is recognised here (known: %s)", known->str);
}

static void text_clear(OrrDumpText *text) {
  g_strfreev(text->lines);
  g_free(text->text);
}

const OrrDumpReader *orr_dump_reader_of(const char *path) {
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  const OrrDumpReader *found = NULL;
  OrrDumpText text = {0};
  const gboolean is_text = load(&text, path, ignored);
  for (guint i = 0; is_text && !found && orr_dump_readers[i] != &orr_dump_host_file; i++)
    if (orr_dump_readers[i]->recognise(&text)) found = orr_dump_readers[i];
  text_clear(&text);
  return found;
}

void orr_dump_read(OrrDump *dump, const char *path, OrrDiags *diags) {
  OrrDumpText text = {0};
  guint n_read = 0;
  const gboolean is_text = load(&text, path, diags);
  for (guint i = 0; is_text && orr_dump_readers[i]; i++) {
    const OrrDumpReader *reader = orr_dump_readers[i];
    if (reader == &orr_dump_host_file && n_read > 0) break;
    if (!reader->recognise(&text)) continue;
    reader->read(&text, dump, diags);
    n_read++;
  }
  if (is_text && n_read == 0) refuse(&text, diags);
  text_clear(&text);
}

void orr_dump_read_as(OrrDump *dump, const OrrDumpReader *reader, const char *path,
                      OrrDiags *diags) {
  OrrDumpText text = {0};
  if (load(&text, path, diags)) reader->read(&text, dump, diags);
  text_clear(&text);
}

/* --- For readers --- */

OrrPlace orr_dump_place(const OrrDumpText *text, guint line, guint column) {
  return (OrrPlace){text->file, (int)line, (int)column, NULL};
}

void orr_dump_note(OrrDump *dump, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (dump->notes->len < 200) g_ptr_array_add(dump->notes, g_strdup_vprintf(format, args));
  va_end(args);
}

OrrDumpNode *orr_dump_add_node(OrrDump *dump, const char *format, OrrPlace place) {
  OrrDumpNode *node = g_new0(OrrDumpNode, 1);
  node->place = place;
  node->format = format;
  node->gpus = array_of(sizeof(OrrDumpGpu), clear_gpu);
  node->nics = array_of(sizeof(OrrDumpNic), clear_nic);
  g_ptr_array_add(dump->nodes, node);
  return node;
}

OrrDumpGpu *orr_dump_node_add_gpu(OrrDumpNode *node, const char *id) {
  const OrrDumpGpu gpu = {.id = g_strdup(id), .numa = -1, .pcie = -1};
  g_array_append_val(node->gpus, gpu);
  return orr_dump_gpu(node, node->gpus->len - 1);
}

OrrDumpNic *orr_dump_node_add_nic(OrrDumpNode *node, const char *name) {
  const OrrDumpNic nic = {.name = g_strdup(name), .ports = 1, .numa = -1, .pcie = -1};
  g_array_append_val(node->nics, nic);
  return orr_dump_nic(node, node->nics->len - 1);
}

OrrDumpFabric *orr_dump_add_fabric(OrrDump *dump, const char *format, OrrPlace place) {
  OrrDumpFabric *fabric = g_new0(OrrDumpFabric, 1);
  fabric->place = place;
  fabric->format = format;
  fabric->switches = array_of(sizeof(OrrDumpSwitch), clear_switch);
  fabric->cables = array_of(sizeof(OrrDumpCable), NULL);
  fabric->ports = array_of(sizeof(OrrDumpPort), clear_port);
  fabric->by_name = g_hash_table_new(g_str_hash, g_str_equal);
  g_ptr_array_add(dump->fabrics, fabric);
  return fabric;
}

guint orr_dump_fabric_switch(OrrDumpFabric *fabric, const char *name) {
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(fabric->by_name, name));
  if (known) return known - 1;
  if (fabric->switches->len >= ORR_DUMP_MAX_SWITCHES) return G_MAXUINT;
  const OrrDumpSwitch made = {.name = g_strdup(name)};
  g_array_append_val(fabric->switches, made);
  g_hash_table_insert(fabric->by_name, made.name, GUINT_TO_POINTER(fabric->switches->len));
  return fabric->switches->len - 1;
}

void orr_dump_fabric_cable(OrrDumpFabric *fabric, guint a, guint b, gint64 count,
                           double bytes_per_s) {
  const OrrDumpCable cable = {a, b, count, bytes_per_s};
  g_array_append_val(fabric->cables, cable);
}

OrrDumpPort *orr_dump_fabric_port(OrrDumpFabric *fabric, const char *node, const char *nic,
                                  guint at, double bytes_per_s) {
  const OrrDumpPort port = {g_strdup(node), g_strdup(nic), NULL, at, bytes_per_s};
  g_array_append_val(fabric->ports, port);
  return &g_array_index(fabric->ports, OrrDumpPort, fabric->ports->len - 1);
}

char **orr_dump_words(const char *line, guint **ret_columns) {
  g_autoptr(GPtrArray) words = g_ptr_array_new();
  g_autoptr(GArray) columns = g_array_new(FALSE, FALSE, sizeof(guint));
  for (gsize i = 0; line[i];) {
    const gsize n = strcspn(line + i, " \t");
    const guint column = (guint)i + 1;
    if (n > 0) {
      g_ptr_array_add(words, g_strndup(line + i, n));
      g_array_append_val(columns, column);
    }
    i += n;
    i += strspn(line + i, " \t");
  }
  g_ptr_array_add(words, NULL);
  if (ret_columns) *ret_columns = (guint *)(void *)g_array_free(g_steal_pointer(&columns), FALSE);
  return (char **)g_ptr_array_free(g_steal_pointer(&words), FALSE);
}

double orr_dump_ib_rate(int lanes, const char *speed) {
  static const struct {
    const char *name;
    double gbit; /* of a lane */
  } speeds[] = {{"SDR", 2},      {"DDR", 4},         {"QDR", 8},       {"FDR10", 10},
                {"FDR", 13.64},  {"EDR", 25},        {"HDR", 50},      {"NDR", 100},
                {"XDR", 200},    {"GDR", 400},       {"2.5", 2},       {"5.0", 4},
                {"10.0", 8},     {"14.0625", 13.64}, {"25.78125", 25}, {"53.125", 50},
                {"106.25", 100}, {"212.5", 200}};
  for (guint i = 0; i < G_N_ELEMENTS(speeds); i++)
    if (g_ascii_strcasecmp(speeds[i].name, speed) == 0) return lanes * speeds[i].gbit * 1e9 / 8;
  return 0;
}
