/*
 * toml.h - TOML 1.0 as a tree (https://toml.io/en/v1.0.0).
 *
 * Numbers lose their underscores and become decimal ("1_200" is "1200", "0x10" is "16"); dates and
 * times stay text. Quoted text is marked as such. Tables may be opened in any order; a table or a
 * key that comes twice is an error. Limits: ORR_TOML_MAX_NODES values and keys, ORR_TOML_MAX_DEPTH
 * levels.
 */
#pragma once

#include "sim/base/node.h"

enum { ORR_TOML_MAX_NODES = 20000, ORR_TOML_MAX_DEPTH = 32 };

/* The caller owns the tree, a map. NULL with an error in @diags, which names the place. @file is
 * interned here. */
OrrNode *orr_toml_parse(const char *text, gsize length, const char *file, OrrDiags *diags);
