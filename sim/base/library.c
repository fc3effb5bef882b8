/*
 * library.c - documents by name.
 *
 * Invariants:
 *  1. The first folder that holds a document wins entirely: documents of the same name in later
 *     folders are ignored.
 *  2. A document returned to a caller has no `base` at its top; `schema` remains, and the reader
 *     skips it.
 *  3. When a document overrides a shipped one of the same name, `shadows` records it, so that a run
 *     can warn that its results do not come from the shipped document.
 *  4. A document is read and resolved once, since a sweep loads the same documents thousands of
 *     times. It shares with its base what it does not override: a profile of a page may have a base
 *     of a megabyte. Callers get a copy of their own, or borrow what nobody changes.
 */
#include "sim/base/library.h"

#include <dirent.h>
#include <glib/gstdio.h>

#include "sim/base/installation.h"
#include "sim/base/library_alias.h"
#include "sim/base/yaml.h"
#include "sim/base/yaml_tree.h"

/* meson defines it for this file alone. */
#ifndef ORR_DATA_DIR
#define ORR_DATA_DIR "/usr/share/orrery"
#endif

/* To add a kind: a row here, its field table in the folder that owns it, and `orrery describe
 * --schema` lists it. */
const OrrDocumentKind orr_document_kinds[] = {
    {"device", "devices", "topologies/devices", TRUE},
    {"cluster", "clusters", "topologies/clusters", TRUE},
    {"model", "models", "models/zoo", TRUE},
    {"generator", "generators", "models/generators", TRUE},
    {"recommender", "recommenders", "models/recommenders", TRUE},
    {"failures", "failures", "workloads/campaign/failures", TRUE},
    {"policy", "policies", "workloads/cluster_jobs/policies", TRUE},
    {"prices", "prices", "topologies/prices", TRUE},
    {"profile", "profiles", "calibration/profiles", FALSE},
    {"workload", "workloads", "workloads/recipes", TRUE},
    {"stack", "stacks", "workloads/stacks", FALSE},
    {"scenario", "scenarios", "scenarios", TRUE},
    {"validation", "validation-sets", "scenarios/validation",
     FALSE}, /* scenarios too: read by path (sim/validate/validate.h) */
    {NULL, NULL, NULL, FALSE},
};

struct OrrLibrary {
  GPtrArray *folders;        /* char*; the last one is the shipped library */
  GHashTable *loaded;        /* "kind/name" -> OrrNode*, bases laid under it */
  GPtrArray *chain;          /* const char*: documents being loaded, each as a base of the last */
  GHashTable *kept;          /* key -> Kept*: what callers made of documents */
  GPtrArray *shadows;        /* char*: what orr_library_shadows gives */
  OrrLibraryAliases *models; /* NULL: nobody asked for one yet */
};

const OrrDocumentKind *orr_document_kind_find(const char *kind_or_plural) {
  for (const OrrDocumentKind *kind = orr_document_kinds; kind->kind; kind++)
    if (strcmp(kind->kind, kind_or_plural) == 0 || strcmp(kind->plural, kind_or_plural) == 0)
      return kind;
  return NULL;
}

/* Where the shipped library can be, best first: ORRERY_SHIPPED alone; the source tree, of a program
 * in its build folder; next to a program that was installed and moved; where it was installed. */
static char **shipped_folders(void) {
  const char *forced = g_getenv("ORRERY_SHIPPED");
  g_autofree char *source = NULL, *build = NULL;
  const char *only[] = {forced, NULL};
  if (forced && *forced) return g_strdupv((char **)only);
  build = orr_installation_build(&source);
  only[0] = source;
  return build ? g_strdupv((char **)only)
               : orr_installation_folders("../share/orrery", ORR_DATA_DIR);
}

/* The first that exists, else the last. */
static char *find_shipped(void) {
  g_auto(GStrv) folders = shipped_folders();
  guint i = 0;
  while (folders[i + 1] && !g_file_test(folders[i], G_FILE_TEST_IS_DIR)) i++;
  return g_strdup(folders[i]);
}

char *orr_library_missing(OrrLibrary *library) {
  g_auto(GStrv) folders = shipped_folders();
  g_autofree char *searched = g_strjoinv(", ", folders);
  if (g_file_test(orr_library_shipped(library), G_FILE_TEST_IS_DIR)) return NULL;
  return g_strdup_printf("the library that is shipped with Orrery was not found; searched: %s "
                         "(ORRERY_SHIPPED can name its folder)",
                         searched);
}

/* --- what callers keep --- */

typedef struct {
  gpointer value;
  GDestroyNotify free_value;
} Kept;

static void free_kept(gpointer data) {
  Kept *kept = data;
  kept->free_value(kept->value);
  g_free(kept);
}

gpointer orr_library_kept(OrrLibrary *library, const char *key) {
  const Kept *kept = g_hash_table_lookup(library->kept, key);
  return kept ? kept->value : NULL;
}

void orr_library_keep(OrrLibrary *library, const char *key, gpointer value,
                      GDestroyNotify free_value) {
  const Kept kept = {value, free_value};
  g_hash_table_replace(library->kept, g_strdup(key), g_memdup2(&kept, sizeof kept));
}

/* --- life --- */

OrrLibrary *orr_library_new(const char *const *folders) {
  OrrLibrary *library = g_new0(OrrLibrary, 1);
  const char *path = g_getenv("ORRERY_PATH");
  g_auto(GStrv) from_path = g_strsplit(path ? path : "", ":", -1);
  library->folders = g_ptr_array_new_with_free_func(g_free);
  library->loaded =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)orr_node_free);
  library->kept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_kept);
  library->chain = g_ptr_array_new();
  library->shadows = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; folders && folders[i]; i++)
    g_ptr_array_add(library->folders, g_strdup(folders[i]));
  for (guint i = 0; from_path[i]; i++)
    if (*from_path[i]) g_ptr_array_add(library->folders, g_strdup(from_path[i]));
  g_ptr_array_add(library->folders, find_shipped());
  return library;
}

void orr_library_free(OrrLibrary *library) {
  if (!library) return;
  g_ptr_array_free(library->folders, TRUE);
  g_hash_table_destroy(library->kept);
  g_hash_table_destroy(library->loaded);
  g_ptr_array_free(library->chain, TRUE);
  g_ptr_array_free(library->shadows, TRUE);
  orr_library_aliases_free(library->models);
  g_free(library);
}

const char *orr_library_shipped(OrrLibrary *library) {
  return library->folders->pdata[library->folders->len - 1];
}

char **orr_library_folders(OrrLibrary *library) {
  char **folders = g_new0(char *, library->folders->len + 1);
  for (guint i = 0; i < library->folders->len; i++)
    folders[i] = g_strdup(library->folders->pdata[i]);
  return folders;
}

char *orr_library_search_path(const OrrLibrary *library) {
  GString *path = g_string_new(NULL);
  for (guint i = 0; i + 1 < library->folders->len; i++) {
    g_autofree char *folder = g_canonicalize_filename(library->folders->pdata[i], NULL);
    g_string_append_printf(path, "%s%s", i > 0 ? ":" : "", folder);
  }
  return g_string_free(path, FALSE);
}

/* --- files --- */

/* The two sub-folders that can hold documents of @kind: Orrery's own, and the flat one of a user's
 * library. */
static void kind_folders(const char *folder, const OrrDocumentKind *kind, char *ret_folders[2]) {
  ret_folders[0] = g_build_filename(folder, kind->subfolder, NULL);
  ret_folders[1] =
      strcmp(kind->plural, kind->subfolder) ? g_build_filename(folder, kind->plural, NULL) : NULL;
}

/* A name is not a path: no name reaches a file outside the library's folders. */
static gboolean is_name(const char *name) { return *name && *name != '.' && !strchr(name, '/'); }

/* "glm45.yaml", "../models/glm45.yaml", "/home/me/glm45.yaml": a file in place of a name. */
static gboolean is_path(const char *name) { return g_str_has_suffix(name, ".yaml"); }

/* Paths in a document are relative to its folder; paths of the command line to the working
 * directory. */
static char *path_beside(const char *path, OrrPlace asked_at) {
  const gboolean in_file = asked_at.file && g_file_test(asked_at.file, G_FILE_TEST_EXISTS);
  g_autofree char *folder = in_file ? g_path_get_dirname(asked_at.file) : g_strdup(".");
  g_autofree char *beside =
      g_path_is_absolute(path) ? g_strdup(path) : g_build_filename(folder, path, NULL);
  return g_canonicalize_filename(beside, NULL);
}

/* Searches the folders from index @from to the last. */
static char *find_file(const OrrLibrary *library, const OrrDocumentKind *kind, const char *name,
                       guint from) {
  g_autofree char *file = g_strconcat(name, ".yaml", NULL);
  for (guint i = from; i < library->folders->len; i++) {
    char *folders[2];
    kind_folders(library->folders->pdata[i], kind, folders);
    g_autofree char *ours = g_build_filename(folders[0], file, NULL);
    g_autofree char *flat = folders[1] ? g_build_filename(folders[1], file, NULL) : NULL;
    ORR_FREE(folders[0], folders[1]);
    if (g_file_test(ours, G_FILE_TEST_IS_REGULAR)) return g_steal_pointer(&ours);
    if (flat && g_file_test(flat, G_FILE_TEST_IS_REGULAR)) return g_steal_pointer(&flat);
  }
  return NULL;
}

/* "h100-sxm" of "shipped:h100-sxm"; NULL: not of that form. */
static const char *shipped_name(const char *name) {
  return g_str_has_prefix(name, ORR_LIBRARY_SHIPPED) ? name + strlen(ORR_LIBRARY_SHIPPED) : NULL;
}

char *orr_library_path(OrrLibrary *library, const char *kind_name, const char *name) {
  const OrrDocumentKind *kind = orr_document_kind_find(kind_name);
  const char *shipped = shipped_name(name), *own = shipped ? shipped : name;
  const guint from = shipped ? library->folders->len - 1 : 0;
  if (kind && is_path(name)) {
    g_autofree char *file = path_beside(name, (OrrPlace){0});
    return g_file_test(file, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer(&file) : NULL;
  }
  return kind && is_name(own) ? find_file(library, kind, own, from) : NULL;
}

const char *orr_library_alias(OrrLibrary *library, const char *kind, const char *name,
                              const char **ret_words) {
  if (strcmp(kind, "model") != 0 || is_path(name) || shipped_name(name)) return NULL;
  g_autofree char *own = orr_library_path(library, kind, name);
  if (own) return NULL;
  if (!library->models) library->models = orr_library_aliases_new(library, kind, NULL);
  return orr_library_aliases_find(library->models, name, ret_words);
}

static gboolean is_same_file(const char *a, const char *b) {
  GStatBuf one, other;
  return g_stat(a, &one) == 0 && g_stat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

/* Keeps invariant 3. @path: the document being read. */
static void note_shadow(OrrLibrary *library, const char *kind_name, const char *name,
                        const char *path) {
  const OrrDocumentKind *kind = orr_document_kind_find(kind_name);
  g_autofree char *shipped =
      kind ? find_file(library, kind, name, library->folders->len - 1) : NULL;
  if (!shipped || is_same_file(shipped, path)) return;
  g_ptr_array_add(
      library->shadows,
      g_strdup_printf("%s '%s' is read from %s in place of the shipped one: answers differ "
                      "from the shipped library's",
                      kind->kind, name, path));
}

const GPtrArray *orr_library_shadows(const OrrLibrary *library) { return library->shadows; }

/* Most file systems give an entry's type; a link's target must be looked at. */
static gboolean is_file(const char *folder, const struct dirent *entry) {
  if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) return entry->d_type == DT_REG;
  g_autofree char *path = g_build_filename(folder, entry->d_name, NULL);
  return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

static void add_names(const char *folder, GPtrArray *names) {
  DIR *dir = folder ? opendir(folder) : NULL;
  const struct dirent *entry;
  while (dir && (entry = readdir(dir))) {
    const char *file = entry->d_name;
    if (*file != '.' && g_str_has_suffix(file, ".yaml") && is_file(folder, entry))
      g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".yaml")));
  }
  if (dir) closedir(dir);
}

char **orr_library_names(OrrLibrary *library, const char *kind_name) {
  const OrrDocumentKind *kind = orr_document_kind_find(kind_name);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; kind && i < library->folders->len; i++) {
    char *folders[2];
    kind_folders(library->folders->pdata[i], kind, folders);
    add_names(folders[0], names);
    add_names(folders[1], names);
    ORR_FREE(folders[0], folders[1]);
  }
  g_ptr_array_sort(names, orr_order_texts);
  for (guint i = names->len; i-- > 1;)
    if (strcmp(names->pdata[i], names->pdata[i - 1]) == 0) g_ptr_array_remove_index(names, i);
  g_ptr_array_add(names, NULL);
  g_ptr_array_set_free_func(names, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

/* --- documents --- */

static gboolean check_schema(const OrrNode *root, const char *kind, OrrDiags *diags) {
  const OrrNode *schema = orr_node_get(root, "schema");
  g_autofree char *wanted = g_strconcat(kind, "/1", NULL);
  if (root->kind != ORR_NODE_MAP)
    orr_diags_error(diags, root->place, "a document must be a map that begins with 'schema: %s'",
                    wanted);
  else if (!schema)
    orr_diags_error(diags, root->place, "missing key 'schema': a %s begins with 'schema: %s'", kind,
                    wanted);
  else if (schema->kind != ORR_NODE_SCALAR)
    orr_diags_error(diags, schema->place, "'schema' must be '%s'", wanted);
  else if (strcmp(schema->text, wanted) != 0)
    orr_diags_error(diags, schema->place, "'schema' must be '%s' here, found '%s'", wanted,
                    schema->text);
  else
    return TRUE;
  return FALSE;
}

/* @top merged with its `base`, if it has one; shares parts with the library's documents. Takes
 * ownership of @top. */
static OrrNode *lay_bases(OrrLibrary *library, const char *kind, OrrNode *top, OrrDiags *diags) {
  g_autoptr(OrrNode) over = top;
  const OrrNode *base = orr_node_get(over, "base");
  if (!base) return g_steal_pointer(&over);
  if (base->kind != ORR_NODE_SCALAR) {
    orr_diags_error(diags, base->place, "'base' must be the name of a %s", kind);
    return NULL;
  }
  const OrrNode *under = orr_library_borrow(library, kind, base->text, base->place, diags);
  if (!under) return NULL;
  g_autoptr(OrrNode) rest = orr_node_copy_top(over);
  orr_node_remove(rest, "base");
  return orr_node_lay(under, rest);
}

/* Devices name their profile as a text, which is looked up later, when its place is forgotten: a
 * path becomes absolute as soon as its document is read. */
static void place_profiles(OrrNode *node) {
  for (guint i = 0; i < orr_node_length(node); i++) {
    const char *key = node->kind == ORR_NODE_MAP ? ((OrrNode *)node->keys->pdata[i])->text : "";
    OrrNode *item = node->items->pdata[i];
    if (item->kind != ORR_NODE_SCALAR) {
      place_profiles(item);
    } else if (strcmp(key, "profile") == 0 && item->text && is_path(item->text)) {
      g_autofree char *path = path_beside(item->text, item->place);
      orr_node_set(node, "profile", orr_node_new_scalar(item->place, path));
    }
  }
}

static OrrNode *read_document(OrrLibrary *library, const char *kind, const char *path,
                              OrrDiags *diags) {
  const guint n_before = orr_diags_n_errors(diags);
  const gboolean is_profile = strcmp(kind, "profile") == 0;
  g_autoptr(OrrNode) root =
      is_profile ? orr_yaml_tree_read_file(path, diags) : orr_yaml_read_file(path, diags);
  if (!root || !check_schema(root, kind, diags)) return NULL;
  if (orr_diags_n_errors(diags) >
      n_before) /* a key twice, an alias: what the tree says is not what was written */
    return NULL;
  if (!is_profile) place_profiles(root);
  return lay_bases(library, kind, g_steal_pointer(&root), diags);
}

static gboolean chain_has(const GPtrArray *chain, const char *name) {
  for (guint i = 0; i < chain->len; i++)
    if (strcmp(chain->pdata[i], name) == 0) return TRUE;
  return FALSE;
}

static void report_cycle(const GPtrArray *chain, const char *name, OrrPlace asked_at,
                         OrrDiags *diags) {
  g_autoptr(GString) text = g_string_new(NULL);
  guint start = 0;
  while (strcmp(chain->pdata[start], name) != 0) start++;
  for (guint i = start; i < chain->len; i++)
    g_string_append_printf(text, "%s -> ", (const char *)chain->pdata[i]);
  /* A file has no namesake in the library: what it can lie on has its last name. */
  g_autofree char *own = is_path(name) ? g_path_get_basename(name) : g_strdup(name);
  if (is_path(name)) own[strlen(own) - strlen(".yaml")] = '\0';
  orr_diags_error(diags, asked_at,
                  "'base' goes in a circle: %s%s. To build on Orrery's own document of the same "
                  "name, write 'base: " ORR_LIBRARY_SHIPPED "%s'",
                  text->str, name, own);
}

static void report_unknown(OrrLibrary *library, const char *kind, const char *name,
                           OrrPlace asked_at, OrrDiags *diags) {
  g_auto(GStrv) names = orr_library_names(library, kind);
  const char *own = shipped_name(name) ? shipped_name(name) : name;
  const char *nearest = orr_diag_nearest_word(own, (const char *const *)names);
  g_autofree char *catalog = g_strconcat(kind, "s", NULL);
  g_autofree char *known = orr_diag_known_words(own, (const char *const *)names, catalog);
  g_autofree char *missing = orr_library_missing(library);
  orr_diags_error(diags, asked_at, "unknown %s '%s'%s%s%s (known: %s)%s%s", kind, name,
                  nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
                  known, missing ? ": " : "", missing ? missing : "");
}

/* The file that a name or a path refers to; NULL with the reason in @diags. */
static char *find_document(OrrLibrary *library, const char *kind, const char *name,
                           OrrPlace asked_at, OrrDiags *diags) {
  char *path = is_path(name) ? path_beside(name, asked_at) : orr_library_path(library, kind, name);
  if (!path)
    report_unknown(library, kind, name, asked_at, diags);
  else if (!is_path(name) && !shipped_name(name))
    note_shadow(library, kind, name, path);
  return path;
}

const OrrNode *orr_library_borrow(OrrLibrary *library, const char *kind, const char *name,
                                  OrrPlace asked_at, OrrDiags *diags) {
  GPtrArray *chain = library->chain;
  const char *meant = orr_library_alias(library, kind, name, NULL);
  if (meant) return orr_library_borrow(library, kind, meant, asked_at, diags);
  g_autofree char *file = is_path(name) ? path_beside(name, asked_at) : NULL;
  g_autofree char *key = g_strdup_printf("%s/%s", kind, file ? file : name);
  const OrrNode *known = g_hash_table_lookup(library->loaded, key);
  if (known) return known;
  if (chain_has(chain, file ? file : name)) {
    report_cycle(chain, file ? file : name, asked_at, diags);
    return NULL;
  }
  g_autofree char *path = find_document(library, kind, name, asked_at, diags);
  if (!path) return NULL;
  g_autofree char *link = g_strdup(file ? file : name);
  g_ptr_array_add(chain, link);
  OrrNode *root = read_document(library, kind, path, diags);
  g_ptr_array_set_size(chain, (int)chain->len - 1);
  if (root) g_hash_table_insert(library->loaded, g_steal_pointer(&key), root);
  return root;
}

OrrNode *orr_library_load(OrrLibrary *library, const char *kind, const char *name,
                          OrrPlace asked_at, OrrDiags *diags) {
  return orr_node_copy(orr_library_borrow(library, kind, name, asked_at, diags));
}

OrrNode *orr_library_expand(OrrLibrary *library, const char *kind, const OrrNode *section,
                            OrrDiags *diags) {
  if (section->kind == ORR_NODE_SCALAR)
    return orr_library_load(library, kind, section->text, section->place, diags);
  if (section->kind == ORR_NODE_MAP)
    return orr_node_own(lay_bases(library, kind, orr_node_copy(section), diags));
  orr_diags_error(diags, section->place,
                  "a %s is a name, a map, or a map with 'base: NAME'; found a list", kind);
  return NULL;
}

OrrNode *orr_library_read_file(OrrLibrary *library, const char *kind, const char *path,
                               OrrDiags *diags) {
  return orr_node_own(read_document(library, kind, path, diags));
}
