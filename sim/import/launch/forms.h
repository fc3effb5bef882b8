/*
 * forms.h - the forms of launch_form.c.
 */
#ifndef ORR_LAUNCH_FORMS_H
#define ORR_LAUNCH_FORMS_H

#include "sim/import/launch/launch_form.h"

G_BEGIN_DECLS

extern const OrrLaunchForm orr_launch_form_config;
extern const OrrLaunchForm orr_launch_form_disaggregated;
extern const OrrLaunchForm orr_launch_form_dockerfile;
extern const OrrLaunchForm orr_launch_form_huggingface;
extern const OrrLaunchForm orr_launch_form_manifest;
extern const OrrLaunchForm orr_launch_form_olmo_core;
extern const OrrLaunchForm orr_launch_form_quantization;
extern const OrrLaunchForm orr_launch_form_recipe;
extern const OrrLaunchForm orr_launch_form_registry;
extern const OrrLaunchForm orr_launch_form_shell;
extern const OrrLaunchForm orr_launch_form_toml;

/* @node in one line of YAML; newly allocated. */
char *orr_forms_flow_text(const OrrNode *node);

G_END_DECLS

#endif
