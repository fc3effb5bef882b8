/*
 * recipe.h - recipes of Megatron-Bridge: Python functions that fill a config.
 *
 *   def llama3_8b_pretrain_8gpu_h100_bf16_config():
 *       cfg = llama3_8b_pretrain_config()              another function, of a file that is given
 *       cfg.mixed_precision = _perf_precision("bf16")
 *       cfg.model.tensor_model_parallel_size = 1       a setting
 *       _common(cfg)                                   a helper that changes it
 *       return cfg
 *
 * Nothing is executed: assignments of literals, constants and parameters are followed through the
 * functions of the given files. What stands under a condition, or in a function that was not given,
 * is named as missing.
 */
#pragma once

#include "sim/base/diag.h"

typedef struct OrrRecipes OrrRecipes;

typedef struct {
  char *key;   /* below the config: "model.tensor_model_parallel_size"; "model" for its name */
  char *value; /* text: "8", "true", "null", "[a, b]" */
  OrrPlace place;
} OrrRecipeSetting;

OrrRecipes *orr_recipes_new(void);
void orr_recipes_free(OrrRecipes *recipes); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrRecipes, orr_recipes_free)

/* Whether @text is a file of recipes. Quick. */
gboolean orr_recipes_is_likely(const char *text);
/* Adds the functions and constants of a file. */
void orr_recipes_add(OrrRecipes *recipes, const char *text, const char *file);
/* The recipes for training, in the order of their files: of char *, borrowed. */
GPtrArray *orr_recipes_names(const OrrRecipes *recipes);
/* The settings of recipe @name, each key once, of OrrRecipeSetting *; NULL: there is none.
 * @ret_missing: of char *, what was not seen. Both are owned by the caller. */
GPtrArray *orr_recipes_settings(OrrRecipes *recipes, const char *name, GPtrArray **ret_missing);

/* --- Texts of Python --- */

/* The logical line at *@c, which moves behind it: brackets may span lines; comments are left out.
 * @line counts. Newly allocated. */
char *orr_recipe_line(const char **c, int *line);
/* Where @letter stands in @text outside of brackets and quotes; NULL: nowhere. */
const char *orr_recipe_find(const char *text, char letter);
/* The parts of @text between commas, stripped. Newly allocated. */
char **orr_recipe_parts(const char *text);
/* "f(a, b)": the function's name; @ret_arguments without the brackets. NULL: not a call. Both newly
 * allocated. */
char *orr_recipe_call(const char *text, char **ret_arguments);
