/*
 * config_resolve.h - what stands in ${...} in the configs of Hydra, OmegaConf, llm-foundry, OLMo
 * and Primus.
 *
 *   ${a.b}  ${.x}  ${..y}          a key from the root, next to this one, one level further out
 *   ${multiply:a,b} mul add sum sub div divide int_div floor_div min max int float
 *   ${oc.env:VAR,default}  ${env:VAR,default}  ${VAR:default}    of the variables of --set
 *   ${oc.select:a.b,default}  ${oc.decode:x}  ${path.choose:a,b} (the first)
 *
 * The environment of this process is never read. What stays unresolved keeps its text.
 */
#ifndef ORR_CONFIG_RESOLVE_H
#define ORR_CONFIG_RESOLVE_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

/* Changes the scalars of @root, which the caller owns alone. Work and lengths are bounded. */
void orr_config_resolve(OrrLaunchDraft *draft, OrrNode *root);
/* The first name of "${name}" that stands unresolved in @text, newly allocated; NULL: none. */
char *orr_config_resolve_unresolved(const char *text);

G_END_DECLS

#endif
