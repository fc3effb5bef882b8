/*
 * settings.h - applies the texts of --set to a document before it is read.
 */
#pragma once

#include "sim/base/field.h"

/* Sets each "PATH=VALUE" of @settings (a strv; may be NULL), in order, in the unread @tree of a
 * document described by @table (orr_field_set). FALSE with ORR_FAULT_USAGE at the first that cannot
 * be set; the message begins with "--set PATH=VALUE: ". */
gboolean orr_settings_apply(const OrrFieldTable *table, OrrNode *tree, char *const *settings,
                            GError **error);

/* Appends "tp 8" of "workload.parallel.tp=8" to @out, a list with commas: the path's last word and
 * the value. */
void orr_settings_append(GString *out, const char *setting);
