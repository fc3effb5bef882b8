/*
 * field_assign.c - changes one scalar member of a struct after it has been read, as a sweep does
 * from point to point instead of reading the documents again. orr_field_set changes the unread
 * tree; where both apply, they agree.
 */
#include "sim/base/field_private.h"

typedef struct {
  const OrrFieldTable *table;
  void *data;
} Spot;

/* Descends into a section, or into the parameters of a choice. */
static gboolean enter(Spot *spot, const OrrField *field) {
  void *member = orr_field_member(field, spot->data);
  if (field->kind == ORR_FIELD_SECTION) {
    *spot = (Spot){field->table, member};
    return TRUE;
  }
  const OrrChoice *choice = member;
  if (field->kind != ORR_FIELD_CHOICE || !choice->entry || !choice->params) return FALSE;
  *spot = (Spot){choice->entry->params, choice->params};
  return TRUE;
}

const OrrField *orr_field_assign_member(const OrrFieldTable *table, void *data, const char *path,
                                        void **ret_data) {
  g_auto(GStrv) segments = g_strsplit(path, ".", -1);
  Spot spot = {table, data};
  for (guint i = 0; segments[i]; i++) {
    const OrrField *field = orr_field_find(spot.table, segments[i]);
    if (!field) return NULL;
    if (!segments[i + 1]) {
      *ret_data = spot.data;
      return field;
    }
    if (!enter(&spot, field)) return NULL;
  }
  return NULL;
}

gboolean orr_field_is_plain(const OrrField *field) {
  return field->kind == ORR_FIELD_BOOL || field->kind == ORR_FIELD_INT ||
         field->kind == ORR_FIELD_REAL || field->kind == ORR_FIELD_WORD;
}

gboolean orr_field_assign(const OrrField *field, const OrrNode *node, OrrDiags *diags, void *data) {
  const guint before = orr_diags_n_errors(diags);
  orr_field_read_member(field, node, NULL, diags, data);
  return orr_diags_n_errors(diags) == before;
}

gboolean orr_field_number(const OrrField *field, const void *data, double *ret_value) {
  const void *member = orr_field_member_const(field, data);
  switch (field->kind) {
  case ORR_FIELD_BOOL:
    *ret_value = *(const gboolean *)member != 0;
    return TRUE;
  case ORR_FIELD_INT:
    *ret_value = (double)*(const gint64 *)member;
    return TRUE;
  case ORR_FIELD_REAL:
    *ret_value = *(const double *)member;
    return TRUE;
  default:
    return FALSE;
  }
}
