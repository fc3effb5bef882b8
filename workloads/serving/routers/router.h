/*
 * router.h - routers choose the replica of each request.
 *
 * A router sees replicas only through an OrrRouterView: their number, which of them accept
 * requests, and the load of each. It may see loads late: `staleness` is the time between two
 * reports, and all decisions until the next report use the last one (the periodic update model of
 * Mitzenmacher, "How useful is old information?", 2000).
 *
 * To add one: write workloads/serving/routers/NAME.c with one `const OrrRouter`, its line in
 * meson.build, and its oracle to tests/workloads/serving/test_router.c.
 */
#pragma once

#include "sim/base/field.h"
#include "sim/base/random.h"
#include "workloads/serving/core/request.h"

/* ORR_LOAD_PROMPT_TOKENS has no word: tokens that prompts without a first token lacked in the
 * cache when they came; 0 where the router does not see blocks. */
typedef enum {
  ORR_LOAD_REQUESTS,
  ORR_LOAD_WAITING,
  ORR_LOAD_KV_BLOCKS,
  ORR_LOAD_PROMPT_TOKENS
} OrrRouterLoad;
extern const char *const orr_router_load_words[]; /* "requests", "waiting", "kv-blocks", NULL */

/* The replicas as a router sees them. The functions return current values. */
typedef struct {
  void *user;
  guint n;
  gint64 block_size; /* tokens per block of their caches */
  guint64 seed;
  gboolean (*is_open)(void *user,
                      /* whether it accepts requests; at least one does whenever a router is
                       * called */
                      guint replica);
  gint64 (*load)(void *user, guint replica, OrrRouterLoad by);
} OrrRouterView;

typedef struct {
  OrrEntry entry;
  gpointer (*open)(const void *params, const OrrRouterView *view);
  guint (*pick)(gpointer state, const OrrRequest *request, double now_s); /* mandatory; returns
                                                                           * an open replica */
  void (*close)(gpointer state);
  /* Called when blocks enter or leave @replica's prefix cache; NULL: not needed. */
  void (*on_blocks)(gpointer state, guint replica, const OrrTextBlocks *blocks, gboolean is_there,
                    double now_s);
  /* Whether it goes by caches, which are to be up to date when it picks; NULL: no. */
  gboolean (*sees_blocks)(const void *params);
  /* Whether on_blocks is to be called just when blocks enter or leave; NULL: it is called at the
   * latest before the next pick. */
  gboolean (*dates_blocks)(const void *params);
} OrrRouter;

extern const OrrRegistry orr_router_registry;

/* --- shared by several routers --- */

/* Loads as last reported. */
typedef struct {
  OrrRouterView view;
  OrrRouterLoad by;
  double staleness_s, seen_s;
  gint64 *seen; /* NULL: loads are always current */
  guint after;  /* the last pick; ties go to the next replica after it */
} OrrRouterLoads;

void orr_router_loads_init(OrrRouterLoads *loads, const OrrRouterView *view, OrrRouterLoad by,
                           double staleness_s);
void orr_router_loads_clear(OrrRouterLoads *loads);
gint64 orr_router_loads_at(OrrRouterLoads *loads, guint replica, double now_s);
/* The open replica with the lowest load; ties in round-robin order. */
guint orr_router_loads_least(OrrRouterLoads *loads, double now_s);

#define ORR_ROUTER_STALENESS(type_, member_)                                                       \
  ORR_FIELD_REAL(type_, "staleness", member_, ORR_UNIT_SECONDS, "0 s",                             \
                 "Time between two load reports of replicas; 0: loads are always current.",        \
                 .flags = ORR_FIELD_UNSIGNED)
