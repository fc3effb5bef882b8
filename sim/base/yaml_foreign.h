/*
 * yaml_foreign.h - the YAML that other tools read, as trees: anchors, aliases, merge keys, tags,
 * several documents, and JSON with comments and trailing commas, which is YAML as well.
 *
 * Our own documents are read by yaml.h, which refuses all of this. Here:
 *  - an alias is a copy of its anchor's node; copies count, so no document expands beyond
 *    ORR_YAML_FOREIGN_MAX_NODES values, and one that contains itself is refused;
 *  - `<<` adds the entries that a map does not have itself;
 *  - of a key that comes twice the later value wins, as in PyYAML, with a warning;
 *  - a tag is ignored; one that is not YAML's own ("!include") is a warning.
 */
#pragma once

#include "sim/base/node.h"

enum {
  ORR_YAML_FOREIGN_MAX_NODES = 50000,
  ORR_YAML_FOREIGN_MAX_BYTES = 2 << 20,
  ORR_YAML_FOREIGN_MAX_DEPTH = 64
};

/* The documents of @text, of OrrNode *, which the caller owns with the array; documents without
 * content are left out. NULL with an error in @diags. */
GPtrArray *orr_yaml_foreign_parse(const char *text, gsize length, const char *file,
                                  OrrDiags *diags);
