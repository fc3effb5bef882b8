/*
 * yaml_tree.c - trees of large YAML texts in binary form: written, checked, read, kept.
 *
 *   Header   magic, checksum of everything behind it, counts
 *   Record   one for each node: kind, place, and its text, or its children. Children stand next to
 *            each other, in the order in which their parents stand. A map's are its keys, then
 *            its values:
 *
 *              {a: 1, b: [2]}    0 map    1 "a"  2 "b"  3 "1"  4 list    5 "2"
 *                                first 1                       first 5
 *
 *   source   the YAML text
 *   words    the texts of all scalars, each with a NUL; equal ones are stored once
 *
 * Invariants
 *  1. A form is read only where its source equals the text. So it is never stale.
 *  2. Every node but the root is the child of exactly one node that stands before it, no deeper
 *     than ORR_YAML_MAX_DEPTH: the reader counts children up to the number of nodes.
 *  3. A text whose tree was made with any finding is not written: it is parsed, and reports them,
 *     each time.
 *  4. Nodes, their arrays and their texts are one block. It owns each node once (n_more is 1 or
 *     more), so that orr_node_free never frees one, and orr_node_own copies it. The arrays are read
 *     and never changed: they have no room for GLib's own members.
 */
#include "sim/base/yaml_tree.h"

#include <glib/gstdio.h>
#include <unistd.h>

#include "sim/base/installation.h"
#include "sim/base/yaml.h"

enum {
  MIN_BYTES = 8192, /* of a text: parsing a shorter one takes less than a millisecond */
  MAX_BYTES = 256 << 20
};

/* The last byte is the number of the form. Another one is needed whenever the form changes, or
 * yaml.c makes another tree of the same text. */
static const char magic[8] = "orrtree\1";

typedef struct {
  char magic[8];
  guint64 checksum;
  guint64 n_source, n_words; /* bytes */
  guint64 n_nodes;
} Header;

typedef struct {
  guint8 kind, quoted;
  guint16 zero;
  gint32 line, column;
  guint32 first; /* of a scalar: where its text begins; else its first child */
  guint32 n;     /* of a scalar: 0; of a list: items; of a map: keys */
} Record;

struct OrrYamlTree {
  const char *file, *source; /* the source is part of @bytes */
  gsize n_source;
  GBytes *bytes;
  OrrNode *nodes;
  OrrNode **pointers; /* to each node */
  GPtrArray *arrays;  /* one of a list, two of a map */
};

/* Each step is one-to-one in the sum and in the word, so no change of one word goes unseen. */
static guint64 checksum(const guint8 *bytes, gsize n) {
  guint64 sum = n;
  for (gsize i = 0; i < n; i += sizeof(guint64)) {
    guint64 word = 0;
    memcpy(&word, bytes + i, MIN(sizeof word, n - i));
    sum = (sum ^ word) * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15);
    sum ^= sum >> 32;
  }
  return sum;
}

enum { SUMMED_FROM = G_STRUCT_OFFSET(Header, n_source) };

static guint64 checksum_of_form(const guint8 *form, gsize size) {
  return checksum(form + SUMMED_FROM, size - SUMMED_FROM);
}

void orr_yaml_tree_seal(guint8 *form, gsize size) {
  if (size < sizeof(Header)) return;
  const guint64 sum = checksum_of_form(form, size);
  memcpy(form + G_STRUCT_OFFSET(Header, checksum), &sum, sizeof sum);
}

/* --- writing --- */

typedef struct {
  GArray *records;
  GPtrArray *nodes; /* parallel */
  GString *words;
  GHashTable *known; /* text: where it begins in @words, plus 1 */
} Form;

static guint32 add_word(Form *form, const char *text) {
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(form->known, text));
  if (known) return known - 1;
  const guint32 at = (guint32)form->words->len;
  g_hash_table_insert(form->known, (gpointer)text, GUINT_TO_POINTER(at + 1));
  g_string_append_len(form->words, text, (gssize)strlen(text) + 1);
  return at;
}

static void add_nodes(Form *form, const GPtrArray *nodes) {
  for (guint i = 0; nodes && i < nodes->len; i++) g_ptr_array_add(form->nodes, nodes->pdata[i]);
}

static void add_record(Form *form, const OrrNode *node) {
  Record record = {.kind = (guint8)node->kind,
                   .quoted = node->quoted != FALSE,
                   .line = node->place.line,
                   .column = node->place.column,
                   .first = form->nodes->len,
                   .n = orr_node_length(node)};
  if (node->kind == ORR_NODE_SCALAR) record.first = add_word(form, node->text);
  add_nodes(form, node->keys);
  add_nodes(form, node->items);
  g_array_append_val(form->records, record);
}

GBytes *orr_yaml_tree_bytes(const OrrNode *root, const char *text, gsize length) {
  g_autoptr(GArray) records = g_array_new(FALSE, FALSE, sizeof(Record));
  g_autoptr(GPtrArray) nodes = g_ptr_array_new();
  g_autoptr(GString) words = g_string_new(NULL);
  g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
  Form form = {records, nodes, words, known};
  g_ptr_array_add(nodes, (gpointer)root);
  for (guint i = 0; i < nodes->len; i++) add_record(&form, nodes->pdata[i]);
  Header header = {.n_source = length, .n_words = words->len, .n_nodes = nodes->len};
  memcpy(header.magic, magic, sizeof magic);
  GByteArray *bytes = g_byte_array_new();
  g_byte_array_append(bytes, (const guint8 *)&header, sizeof header);
  g_byte_array_append(bytes, (const guint8 *)records->data, records->len * sizeof(Record));
  g_byte_array_append(bytes, (const guint8 *)text, (guint)length);
  g_byte_array_append(bytes, (const guint8 *)words->str, (guint)words->len);
  orr_yaml_tree_seal(bytes->data, bytes->len);
  return g_byte_array_free_to_bytes(bytes);
}

/* --- reading --- */

typedef struct {
  Header header;
  const Record *records;
  const char *source, *words;
} View;

/* FALSE where the bytes are not an undamaged form of @text. */
static gboolean open_view(GBytes *bytes, const char *text, gsize length, View *ret_view) {
  gsize size = 0;
  const guint8 *data = g_bytes_get_data(bytes, &size);
  if (size < sizeof(Header)) return FALSE;
  memcpy(&ret_view->header, data, sizeof(Header));
  const Header *header = &ret_view->header;
  if (memcmp(header->magic, magic, sizeof magic) != 0 || header->n_source != length ||
      header->n_nodes < 1 || header->n_nodes > size / sizeof(Record) || header->n_words > size ||
      sizeof(Header) + header->n_nodes * sizeof(Record) + header->n_source + header->n_words !=
          size)
    return FALSE;
  ret_view->records = (const Record *)(data + sizeof(Header));
  ret_view->source = (const char *)(ret_view->records + header->n_nodes);
  ret_view->words = ret_view->source + length;
  return memcmp(ret_view->source, text, length) == 0 &&
         checksum_of_form(data, size) == header->checksum &&
         (header->n_words == 0 || ret_view->words[header->n_words - 1] == '\0');
}

/* Whether the records form one tree of scalars, lists and maps (invariant 2). @ret_n_arrays: how
 * many arrays its lists and maps have. */
static gboolean is_tree(const View *view, gsize *ret_n_arrays) {
  const guint64 n_nodes = view->header.n_nodes;
  g_autofree guint8 *depths = g_new0(guint8, n_nodes);
  g_autofree guint8 *is_key = g_new0(guint8, n_nodes);
  guint64 next = 1;
  depths[0] = 1;
  *ret_n_arrays = 0;
  for (guint64 i = 0; i < n_nodes; i++) {
    const Record *record = &view->records[i];
    const guint64 n = (guint64)record->n * (record->kind == ORR_NODE_MAP ? 2 : 1);
    if (record->kind > ORR_NODE_MAP || record->quoted > 1 || depths[i] > ORR_YAML_MAX_DEPTH ||
        (is_key[i] && record->kind != ORR_NODE_SCALAR))
      return FALSE;
    *ret_n_arrays += record->kind == ORR_NODE_MAP ? 2 : record->kind == ORR_NODE_LIST;
    if (record->kind == ORR_NODE_SCALAR) {
      if (n != 0 || record->first >= view->header.n_words) return FALSE;
      continue;
    }
    if (record->first != next || n > n_nodes - next) return FALSE;
    memset(depths + next, depths[i] + 1, n);
    if (record->kind == ORR_NODE_MAP) memset(is_key + next, TRUE, record->n);
    next += n;
  }
  return next == n_nodes;
}

static GPtrArray *set_array(GPtrArray *array, OrrNode **first, guint n) {
  array->pdata = (gpointer *)first;
  array->len = n;
  return array;
}

static void set_nodes(OrrYamlTree *tree, const View *view) {
  GPtrArray *array = tree->arrays;
  for (guint64 i = 0; i < view->header.n_nodes; i++) {
    const Record *record = &view->records[i];
    OrrNode *node = tree->pointers[i] = &tree->nodes[i];
    node->kind = (OrrNodeKind)record->kind;
    node->place = (OrrPlace){.file = tree->file, .line = record->line, .column = record->column};
    node->quoted = record->quoted;
    node->n_more = 1;
    OrrNode **children = tree->pointers + record->first;
    if (node->kind == ORR_NODE_SCALAR) {
      node->text = (char *)view->words + record->first;
      continue;
    }
    if (node->kind == ORR_NODE_MAP) {
      node->keys = set_array(array++, children, record->n);
      children += record->n;
    }
    node->items = set_array(array++, children, record->n);
  }
}

OrrYamlTree *orr_yaml_tree_new(GBytes *bytes, const char *text, gsize length, const char *file) {
  View view;
  gsize n_arrays = 0;
  if (!open_view(bytes, text, length, &view) || !is_tree(&view, &n_arrays)) return NULL;
  OrrYamlTree *tree = g_new0(OrrYamlTree, 1);
  tree->file = file;
  tree->source = view.source;
  tree->n_source = length;
  tree->bytes = g_bytes_ref(bytes);
  tree->nodes = g_new0(OrrNode, view.header.n_nodes);
  tree->pointers = g_new(OrrNode *, view.header.n_nodes);
  tree->arrays = g_new0(GPtrArray, n_arrays);
  set_nodes(tree, &view);
  return tree;
}

void orr_yaml_tree_free(OrrYamlTree *tree) {
  if (!tree) return;
  ORR_FREE(tree->nodes, tree->pointers, tree->arrays);
  g_bytes_unref(tree->bytes);
  g_free(tree);
}

OrrNode *orr_yaml_tree_root(const OrrYamlTree *tree) { return orr_node_ref(tree->pointers[0]); }

/* --- where forms are --- */

char **orr_yaml_tree_files(const char *path) {
  g_autofree char *whole = g_canonicalize_filename(path, NULL), *name = g_path_get_basename(path);
  g_autofree char *build = orr_installation_build(NULL);
  g_autofree char *form = g_strconcat(name, ".tree", NULL);
  g_autofree char *own = g_strdup_printf("%s-%016" G_GINT64_MODIFIER "x.tree", name,
                                         checksum((const guint8 *)whole, strlen(whole)));
  g_autoptr(GStrvBuilder) files = g_strv_builder_new();
  g_autofree char *beside = g_strconcat(whole, ".tree", NULL);
  g_autofree char *built = build ? g_build_filename(build, form, NULL) : NULL;
  g_autofree char *kept = g_build_filename(g_get_user_cache_dir(), "orrery", own, NULL);
  g_strv_builder_add(files, beside);
  if (built) g_strv_builder_add(files, built);
  g_strv_builder_add(files, kept);
  return g_strv_builder_end(files);
}

static OrrYamlTree *find_form(char **files, const char *text, gsize length, const char *file) {
  OrrYamlTree *found = NULL;
  for (; !found && *files; files++) {
    g_autoptr(GError) ignored = NULL;
    g_autoptr(GBytes) bytes =
        g_access(*files, R_OK) == 0 ? orr_file_map(*files, MAX_BYTES, &ignored) : NULL;
    if (bytes) found = orr_yaml_tree_new(bytes, text, length, file);
  }
  return found;
}

/* Keeps a form for the next command. Ignores a cache that cannot be written: the next command
 * parses the text again. */
static void keep_form(const char *path, GBytes *bytes) {
  gsize size = 0;
  const char *data = g_bytes_get_data(bytes, &size);
  g_autofree char *folder = g_path_get_dirname(path);
  if (g_mkdir_with_parents(folder, 0700) == 0)
    g_file_set_contents_full(path, data, (gssize)size, G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL);
}

/* The parsed tree in @ret_root; as a form, too, where it can have one (invariant 3). */
static OrrYamlTree *parse(char **files, const char *text, gsize length, const char *file,
                          OrrDiags *diags, OrrNode **ret_root) {
  const guint before = orr_diags_n_errors(diags) + orr_diags_n_warnings(diags);
  *ret_root = orr_yaml_parse(text, length, file, diags);
  if (!*ret_root || orr_diags_n_errors(diags) + orr_diags_n_warnings(diags) > before) return NULL;
  g_autoptr(GBytes) bytes = orr_yaml_tree_bytes(*ret_root, text, length);
  keep_form(files[g_strv_length(files) - 1], bytes);
  return orr_yaml_tree_new(bytes, text, length, file);
}

/* The tree of this text that the process has, or NULL. */
static const OrrYamlTree *find_known(const GPtrArray *known, const char *text, gsize length,
                                     const char *file) {
  ORR_EACH_POINTER(const OrrYamlTree, tree, known)
    if (tree->file == file && tree->n_source == length && memcmp(tree->source, text, length) == 0)
      return tree;
  return NULL;
}

OrrNode *orr_yaml_tree_read_file(const char *path, OrrDiags *diags) {
  static GPtrArray *known = NULL;
  gsize length = 0;
  g_autofree char *text = orr_file_read(path, ORR_YAML_MAX_BYTES, &length, NULL);
  if (!text || length < MIN_BYTES) return orr_yaml_read_file(path, diags);
  if (!known) known = g_ptr_array_new();
  const char *file = g_intern_string(path);
  const OrrYamlTree *tree = find_known(known, text, length, file);
  if (tree) return orr_yaml_tree_root(tree);
  g_auto(GStrv) files = orr_yaml_tree_files(path);
  g_autoptr(OrrNode) root = NULL;
  OrrYamlTree *made = find_form(files, text, length, file);
  if (!made) made = parse(files, text, length, file, diags, &root);
  if (!made) return g_steal_pointer(&root);
  g_ptr_array_add(known, made);
  return orr_yaml_tree_root(made);
}
