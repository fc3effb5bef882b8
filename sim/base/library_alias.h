/*
 * library_alias.h - other names of documents.
 *
 * A document can have `aliases:`, a list of texts: the names by which others know it and, after a
 * blank, words that come with a name. Models use them: the id on Hugging Face, and the format of
 * that checkpoint.
 *
 *   name: deepseek-r1
 *   aliases: [deepseek-ai/DeepSeek-R1 fp8-block, nvidia/DeepSeek-R1-NVFP4 nvfp4-mlp]
 *
 * Case does not matter. A name without an alias of its own is tried without the suffix of a
 * quantised checkpoint (-FP8, -NVFP4, -AWQ, ...), which then gives the words, and without the part
 * before '/', so that an organisation's copy of a known model is found.
 */
#pragma once

#include "sim/base/library.h"

typedef struct OrrLibraryAliases OrrLibraryAliases;

/* Reads the aliases of all documents of @kind. Of two documents that claim a name, the first in
 * the order of names has it, and @ret_conflict, which may be NULL, gets a sentence (newly
 * allocated; NULL: there are none). */
OrrLibraryAliases *orr_library_aliases_new(OrrLibrary *library, const char *kind,
                                           char **ret_conflict);
void orr_library_aliases_free(OrrLibraryAliases *aliases);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrLibraryAliases, orr_library_aliases_free)

/* The document that @name means, owned by @aliases; NULL: unknown. @ret_words, which may be NULL:
 * the words that come with the name, "" for none; they live as long as @aliases. */
const char *orr_library_aliases_find(const OrrLibraryAliases *aliases, const char *name,
                                     const char **ret_words);
