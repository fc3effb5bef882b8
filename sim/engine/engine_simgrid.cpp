/*
 * engine_simgrid.cpp - transfers share links as SimGrid computes it. The only C++ file, and the
 * only one that includes SimGrid: a module that engine_load.c loads when it is wanted.
 *
 * SimGrid provides the clock and its timers (s4u::Engine, kernel::timer), and the sharing: a
 * max-min system (kernel::lmm) with one constraint per link and one variable per transfer:
 *
 *     maximise the smallest rate, then the next smallest ...
 *     subject to  sum over transfers t of w(t, l) * rate(t) <= B(l)  for every link l
 *
 * with w the integer weight of transfer t on link l and B the link's bandwidth (max-min fairness:
 * Bertsekas and Gallager, Data Networks, 6.5.2; SimGrid: Casanova et al., J. Parallel Distrib.
 * Comput. 74(10), 2014). SimGrid solves again only the component that a start, an end or a change
 * of bandwidth can reach, and lists the actions whose rate it set.
 *
 * Why not s4u::Comm: it takes the weight of a link only as the number of times the link is named in
 * a route (weight 1000 costs 1000 insertions), walks the list of all detached communications at
 * each end, and rounds dates to surf/precision. With lmm a variable takes its weight as a number,
 * there is no list, and dates are exact to the last bit. Where transfers do not share links, one
 * costs 1.2 us with 1,000 in flight and 2 us with 8,000 (tests/engine/test_engine -m perf). A
 * component in which all transfers meet is solved as a whole at each start and end: 0.4 ms with
 * 1,000 transfers.
 *
 * libsimgrid exports lmm::System but does not install its header; the members in use are declared
 * below as in SimGrid 3.32. The linker checks the names and argument types of each function against
 * the library.
 *
 * Invariants
 *  1. One engine per process: SimGrid's clock and configuration are global.
 *  2. A held transfer has penalty 0: its variable is disabled and takes no bandwidth.
 *  3. No exception leaves this file.
 */
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <signal.h>
#include <sys/resource.h>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <simgrid/version.h>

#include "sim/base/fault.h"
#include "sim/engine/engine_private.h"

#if SIMGRID_VERSION < 33200 || SIMGRID_VERSION >= 33300
#error                                                                                             \
    "The adapter is written for SimGrid 3.32 (Debian 12): check the declaration of lmm::System against your version"
#endif

namespace simgrid::kernel::lmm {
class System {
public:
  static System *build(std::string_view solver_name, bool selective_update);
  Constraint *constraint_new(resource::Resource *id, double bound);
  Variable *variable_new(resource::Action *id, double sharing_penalty, double bound,
                         size_t number_of_constraints);
  void expand(Constraint *constraint, Variable *variable, double consumption_weight,
              bool force_creation);
  void update_variable_penalty(Variable *variable, double penalty);
  void update_constraint_bound(Constraint *constraint, double bound);
  void solve();
};
} // namespace simgrid::kernel::lmm

namespace {
namespace lmm = simgrid::kernel::lmm;
namespace resource = simgrid::kernel::resource;

/* A transfer inside SimGrid. engine.c keeps bytes and dates, so the base class's own bookkeeping
 * is not used. */
class Flow : public resource::Action {
public:
  OrrTransfer *const transfer;

  Flow(resource::Model *model, OrrTransfer *of)
      : Action(model, of->size_bytes, false), transfer(of) {}
  void update_remains_lazy(double) override {}
};

struct World {
  simgrid::s4u::Engine engine;
  resource::Model model{"orrery"};
  lmm::System *sharing; /* the model's */
  std::vector<lmm::Constraint *> constraints;

  World(int *argc, char **argv) : engine(argc, argv) {
    /* Remaining capacity below this fraction of a link counts as 0: it is rounding. */
    simgrid::s4u::Engine::set_config("maxmin/precision", 1e-12);
    sharing = lmm::System::build("maxmin", true);
    model.set_maxmin_system(sharing);
    simgrid::s4u::create_empty_zone("orrery"); /* SimGrid runs no engine without a platform */
  }
};

World *world_of(const OrrEngine *engine) { return static_cast<World *>(engine->state); }

/* Runs @body; turns an exception into an OrrFault. */
template <class Body> gboolean guard(GError **error, Body body) {
  try {
    body();
    return TRUE;
  } catch (const std::exception &exception) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_INTERNAL, "SimGrid: %s", exception.what());
  } catch (...) {
    g_set_error_literal(error, ORR_FAULT, ORR_FAULT_INTERNAL,
                        "SimGrid: an exception of no known type");
  }
  return FALSE;
}

/* For functions that return no error: stores it until the end of the run. */
template <class Body> void guard_later(OrrEngine *engine, Body body) {
  guard(engine->fault == nullptr ? &engine->fault : nullptr, body);
}

/* SimGrid finds the component of a change by recursion, as deep as the longest sequence of links
 * that share transfers: a few hundred bytes of stack per link, so that 8 MiB overflow below
 * 100,000 links and 120 MiB hold a million (measured). Linux keeps 128 MiB of addresses free below
 * the main thread's stack, and lets the stack grow into them up to the current soft limit. */
void allow_deep_stack() {
  constexpr rlim_t wanted = 120 << 20;
  struct rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur >= wanted)
    return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit); /* where this fails, only the deepest networks overflow */
}

/* SimGrid installs handlers for SIGINT and SIGSEGV, with which Ctrl-C crashes a run. Restores
 * those of the program. */
void open_world(OrrEngine *engine) {
  static char name[] = "orrery";
  static char quiet[] = "--log=root.thresh:critical";
  static char *arguments[] = {name, quiet, nullptr};
  int count = 2;
  struct sigaction interrupt, crash;
  sigaction(SIGINT, nullptr, &interrupt);
  sigaction(SIGSEGV, nullptr, &crash);
  engine->state = new World(&count, arguments);
  sigaction(SIGINT, &interrupt, nullptr);
  sigaction(SIGSEGV, &crash, nullptr);
}

gboolean simgrid_open(OrrEngine *engine, GError **error) {
  static bool taken = false;
  if (taken) {
    g_set_error_literal(error, ORR_FAULT, ORR_FAULT_INTERNAL,
                        "a process has one SimGrid engine, and it has had it");
    return FALSE;
  }
  taken = true;
  allow_deep_stack();
  return guard(error, [engine] { open_world(engine); });
}

void simgrid_close(OrrEngine *engine) {
  guard(nullptr, [engine] { delete world_of(engine); });
  engine->state = nullptr;
}

gboolean simgrid_add_link(OrrEngine *engine, OrrLink link, GError **error) {
  return guard(error, [=] {
    World *world = world_of(engine);
    world->constraints.push_back(
        world->sharing->constraint_new(nullptr, orr_engine_link(engine, link)->bandwidth));
  });
}

void simgrid_start(OrrEngine *engine, OrrTransfer *transfer) {
  guard_later(engine, [=] {
    World *world = world_of(engine);
    auto flow = std::make_unique<Flow>(&world->model, transfer);
    lmm::Variable *variable = world->sharing->variable_new(flow.get(), transfer->held ? 0.0 : 1.0,
                                                           -1.0, transfer->n_uses);
    flow->set_variable(variable);
    for (guint32 i = 0; i < transfer->n_uses; i++)
      world->sharing->expand(world->constraints[transfer->uses[i].link], variable,
                             transfer->uses[i].weight, true);
    transfer->action = flow.release();
  });
}

void simgrid_end(OrrEngine *engine, OrrTransfer *transfer) {
  /* This frees its variable too. */
  guard_later(engine, [=] { delete static_cast<Flow *>(transfer->action); });
  transfer->action = nullptr;
}

void simgrid_hold(OrrEngine *engine, OrrTransfer *transfer, gboolean held) {
  guard_later(engine, [=] {
    auto *flow = static_cast<Flow *>(transfer->action);
    world_of(engine)->sharing->update_variable_penalty(flow->get_variable(), held ? 0.0 : 1.0);
  });
}

void simgrid_bandwidth_changed(OrrEngine *engine, OrrLink link) {
  guard_later(engine, [=] {
    World *world = world_of(engine);
    world->sharing->update_constraint_bound(world->constraints[link],
                                            orr_engine_link(engine, link)->bandwidth);
  });
}

void simgrid_settle(OrrEngine *engine) {
  guard_later(engine, [engine] {
    World *world = world_of(engine);
    world->sharing->solve();
    auto *changed = world->model.get_modified_set();
    while (!changed->empty()) {
      auto &flow = static_cast<Flow &>(changed->front());
      changed->pop_front();
      if (!flow.transfer->held) orr_engine_set_rate(engine, flow.transfer, flow.get_rate());
    }
  });
}

/* At most one SimGrid timer is armed, for the next date. Dates that are not in the future need
 * none. */
void arm(OrrEngine *engine) {
  double date_s;
  while (orr_engine_next_date(engine, &date_s)) {
    if (date_s > simgrid::s4u::Engine::get_clock()) {
      simgrid::kernel::timer::Timer::set(date_s, [engine] {
        orr_engine_dispatch(engine);
        arm(engine);
      });
      return;
    }
    orr_engine_dispatch(engine);
  }
}

gboolean simgrid_run(OrrEngine *engine, GError **error) {
  return guard(error, [engine] {
    arm(engine);
    world_of(engine)->engine.run();
  });
}
} // namespace

extern "C" {
extern const OrrEngineLayout orr_engine_simgrid_layout = ORR_ENGINE_LAYOUT;
extern const OrrEngineClass orr_engine_simgrid_class = {
    "simgrid 3.32, lmm max-min, selective update, precision 1e-12",
    simgrid_open,
    simgrid_close,
    simgrid_add_link,
    simgrid_start,
    simgrid_end,
    simgrid_hold,
    simgrid_bandwidth_changed,
    simgrid_settle,
    simgrid_run,
};
}
