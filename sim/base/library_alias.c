/*
 * library_alias.c - an index of names, in lower case:
 *
 *   qwen/qwen3-8b  -> qwen3-8b         an alias
 *   qwen3-8b       -> qwen3-8b         its last part, and the document's own name
 *
 * A blank in the name that is looked up counts as '-': "Qwen3 8B" is qwen3-8b.
 *
 * An alias always beats a last part: two organisations can call different models the same.
 */
#include "sim/base/library_alias.h"

#include "sim/base/yaml.h"

typedef struct {
  char *document, *words;
} Meaning;

struct OrrLibraryAliases {
  GHashTable *whole; /* lower-case alias -> Meaning * */
  GHashTable *last;  /* lower-case last part of an alias, or name of a document -> Meaning * */
};

/* Suffixes that publishers append to the id of a model whose weights they quantised. Longer ones
 * first. */
static const struct {
  const char *suffix, *words;
} suffixes[] = {
    {"-quantized.w4a16", "gptq"},
    {"-quantized.w8a8", "int8"},
    {"-fp8-dynamic", "fp8"},
    {"-gptq-int4", "gptq"},
    {"-fp8-block", "fp8-block"},
    {"-awq-int4", "awq"},
    {"-fp8-kv", "fp8"},
    {"-nvfp4", "nvfp4"},
    {"-w4a16", "gptq"},
    {"-bf16", "none"},
    {"-w8a8", "int8"},
    {"-gptq", "gptq"},
    {"-fp4", "nvfp4"},
    {"-fp8", "fp8"},
    {"-awq", "awq"},
};

static void free_meaning(gpointer data) {
  Meaning *meaning = data;
  ORR_FREE(meaning->document, meaning->words, meaning);
}

static Meaning *new_meaning(const char *document, const char *words) {
  Meaning *meaning = g_new0(Meaning, 1);
  *meaning = (Meaning){g_strdup(document), g_strdup(words)};
  return meaning;
}

static const char *last_part(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash ? slash + 1 : name;
}

static void add_last(OrrLibraryAliases *aliases, const char *name, const char *document,
                     const char *words) {
  const char *part = last_part(name);
  if (!g_hash_table_contains(aliases->last, part))
    g_hash_table_insert(aliases->last, g_strdup(part), new_meaning(document, words));
}

static void add_alias(OrrLibraryAliases *aliases, const char *text, const char *document,
                      char **ret_conflict) {
  g_autofree char *name = g_ascii_strdown(text, -1);
  char *blank = strchr(name, ' ');
  if (blank) *blank = 0;
  const char *words = blank ? g_strchug(blank + 1) : "";
  const Meaning *known = g_hash_table_lookup(aliases->whole, name);
  if (!known) {
    g_hash_table_insert(aliases->whole, g_strdup(name), new_meaning(document, words));
    add_last(aliases, name, document, words);
  } else if (ret_conflict && !*ret_conflict)
    *ret_conflict =
        g_strdup_printf("'%s' is an alias of %s and of %s", name, known->document, document);
}

/* The list of aliases in a document's own file, without its base's. */
static void read_document(OrrLibraryAliases *aliases, OrrLibrary *library, const char *kind,
                          const char *document, char **ret_conflict) {
  g_autofree char *path = orr_library_path(library, kind, document);
  g_autoptr(OrrDiags) diags = orr_diags_new(); /* ignored: a broken file is reported when used */
  g_autoptr(OrrNode) root = path ? orr_yaml_read_file(path, diags) : NULL;
  const OrrNode *list = root && root->kind == ORR_NODE_MAP ? orr_node_get(root, "aliases") : NULL;
  ORR_EACH_ITEM(item, orr_node_as(ORR_NODE_LIST, list)) {
    if (item->kind == ORR_NODE_SCALAR) add_alias(aliases, item->text, document, ret_conflict);
  }
}

OrrLibraryAliases *orr_library_aliases_new(OrrLibrary *library, const char *kind,
                                           char **ret_conflict) {
  OrrLibraryAliases *aliases = g_new0(OrrLibraryAliases, 1);
  g_auto(GStrv) names = orr_library_names(library, kind);
  aliases->whole = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_meaning);
  aliases->last = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_meaning);
  if (ret_conflict) *ret_conflict = NULL;
  for (char **name = names; *name; name++) {
    g_autofree char *lower = g_ascii_strdown(*name, -1);
    add_last(aliases, lower, *name, "");
  }
  for (char **name = names; *name; name++)
    read_document(aliases, library, kind, *name, ret_conflict);
  return aliases;
}

void orr_library_aliases_free(OrrLibraryAliases *aliases) {
  if (!aliases) return;
  g_hash_table_unref(aliases->whole);
  g_hash_table_unref(aliases->last);
  g_free(aliases);
}

static const Meaning *look_up(const OrrLibraryAliases *aliases, const char *name) {
  const Meaning *meaning = g_hash_table_lookup(aliases->whole, name);
  return meaning ? meaning : g_hash_table_lookup(aliases->last, last_part(name));
}

const char *orr_library_aliases_find(const OrrLibraryAliases *aliases, const char *name,
                                     const char **ret_words) {
  g_autofree char *lower = g_strdelimit(g_ascii_strdown(name, -1), " ", '-');
  const Meaning *meaning = look_up(aliases, lower);
  const char *words = meaning ? meaning->words : NULL;
  for (guint i = 0; !meaning && i < G_N_ELEMENTS(suffixes); i++) {
    if (!g_str_has_suffix(lower, suffixes[i].suffix)) continue;
    lower[strlen(lower) - strlen(suffixes[i].suffix)] = 0;
    meaning = look_up(aliases, lower);
    words = suffixes[i].words;
    break;
  }
  if (ret_words && meaning) *ret_words = words;
  return meaning ? meaning->document : NULL;
}
