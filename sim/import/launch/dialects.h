/*
 * dialects.h - the dialects of dialects.inc.
 */
#ifndef ORR_DIALECTS_H
#define ORR_DIALECTS_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

#define DIALECT(name_) extern const OrrLaunchDialect orr_dialect_##name_;
#include "sim/import/launch/dialects.inc"
#undef DIALECT

G_END_DECLS

#endif
