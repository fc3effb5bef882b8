/*
 * huggingface_config.h - a Hugging Face config.json as it is read: by keys that have had several names, which are
 * remembered, so that what nobody asked for can be told.
 */
#ifndef ORR_HUGGINGFACE_CONFIG_H
#define ORR_HUGGINGFACE_CONFIG_H

#include "sim/base/diag.h"
#include "sim/base/node.h"

G_BEGIN_DECLS

typedef struct {
  const OrrNode *map; /* the config, or the part of it that stands for the decoder or a tower */
  GHashTable *used;   /* interned keys that were asked for */
  OrrDiags *diags;
} OrrHuggingfaceConfig;

/* What stands under the first of @keys ('|' between them) that is there and not null; NULL: under none of them. */
const OrrNode *orr_huggingface_find(const OrrHuggingfaceConfig *config, const char *keys);

/* The same as a whole number of 0 or more; anything else is an error at its place. */
gint64 orr_huggingface_number(const OrrHuggingfaceConfig *config, const char *keys, gint64 fallback);
gboolean orr_huggingface_flag(const OrrHuggingfaceConfig *config, const char *keys, gboolean fallback);

/* A number of a document's section and the keys that configs have for it. */
typedef struct {
  const char *key, *from;
} OrrHuggingfacePair;

/* A map of those of @pairs that the config has above 0. */
OrrNode *orr_huggingface_section(const OrrHuggingfaceConfig *config, const OrrHuggingfacePair *pairs, guint n_pairs);

/* Sets a scalar of a document's map. */
void orr_huggingface_set_text(OrrNode *map, const char *key, const char *text);
void orr_huggingface_set_number(OrrNode *map, const char *key, gint64 value);
void orr_huggingface_set_flag(OrrNode *map, const char *key, gboolean value);

G_END_DECLS

#endif
