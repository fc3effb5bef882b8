/*
 * router.h - which replica a request goes to.
 *
 * A router sees replicas through an OrrRouterView, nothing else: how many there are, which take
 * requests, and what load each has. It may see loads late: `staleness` is the time between two
 * reports, and until the next one all decisions are made on the last (what Mitzenmacher, "How
 * useful is old information?", 2000, calls the periodic update model).
 *
 * To add one: write workloads/serving/routers/NAME.c with one `const OrrRouter`, add it to the
 * array in router.c and to meson.build, and its oracle to tests/workloads/serving/test_router.c.
 */
#ifndef ORR_ROUTER_H
#define ORR_ROUTER_H

#include "sim/base/field.h"
#include "sim/base/random.h"
#include "workloads/serving/core/request.h"

G_BEGIN_DECLS

typedef enum { ORR_LOAD_REQUESTS, ORR_LOAD_WAITING, ORR_LOAD_KV_BLOCKS } OrrRouterLoad;
extern const char *const orr_router_load_words[]; /* "requests", "waiting", "kv-blocks", NULL */

/* The replicas, as a router sees them. Functions answer for now. */
typedef struct {
  void *user;
  guint n;
  gint64 block_size; /* tokens of a block of their caches */
  guint64 seed;
  gboolean (*is_open)(void *user,
                      guint replica); /* takes requests; one does whenever a router is asked */
  gint64 (*load)(void *user, guint replica, OrrRouterLoad by);
} OrrRouterView;

typedef struct {
  OrrEntry entry;
  gpointer (*open)(const void *params, const OrrRouterView *view);
  guint (*pick)(gpointer state, const OrrRequest *request, double now_s); /* of an open replica */
  void (*close)(gpointer state);
  /* A block of @replica's prefix cache got a name or lost it; NULL: not interested. */
  void (*on_block)(gpointer state, guint replica, guint64 key, gboolean is_there, double now_s);
  gboolean (*sees_blocks)(const void *params); /* needs blocks step by step; NULL: no */
} OrrRouter;

extern const OrrRegistry orr_router_registry;

/* --- what several routers do alike --- */

/* Loads as last reported. */
typedef struct {
  OrrRouterView view;
  OrrRouterLoad by;
  double staleness_s, seen_s;
  gint64 *seen; /* NULL: loads are never late */
  guint after;  /* the last pick: of equals, the next one after it is taken */
} OrrRouterLoads;

void orr_router_loads_init(OrrRouterLoads *loads, const OrrRouterView *view, OrrRouterLoad by,
                           double staleness_s);
void orr_router_loads_clear(OrrRouterLoads *loads);
gint64 orr_router_loads_at(OrrRouterLoads *loads, guint replica, double now_s);
/* The least loaded of the open ones; equals in turn. */
guint orr_router_loads_least(OrrRouterLoads *loads, double now_s);

#define ORR_ROUTER_STALENESS(type_, member_)                                                       \
  {                                                                                                \
    .name = "staleness", .kind = ORR_FIELD_REAL, .offset = offsetof(type_, member_),               \
    .sentence = "Time between two reports of what replicas hold; 0: always known.",                \
    .fallback = "0 s", .unit = ORR_UNIT_SECONDS, .flags = ORR_FIELD_UNSIGNED                       \
  }

G_END_DECLS

#endif
