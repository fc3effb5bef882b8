/*
 * engine_simgrid.cpp - transfers share links as SimGrid computes it. The only C++ file, and the
 * only one that includes SimGrid: a module that engine_load.c loads when it is wanted.
 *
 * SimGrid provides the clock and its timers (s4u::Engine, kernel::timer), and solves the sharing: a
 * max-min system (kernel::lmm; Casanova et al., J. Parallel Distrib. Comput. 74(10), 2014) with one
 * constraint per link and one variable per transfer. sharing.c decides what is solved: of a large
 * network, only the few transfers that a start or an end can move. Given all of it, SimGrid solves
 * every transfer that is connected with the change through links, however slightly: on 12,288 GPUs
 * with ECMP that took 17 s, and takes 5 s this way.
 *
 * Why not s4u::Comm: it takes the weight of a link only as the number of times the link is named in
 * a route (weight 1000 costs 1000 insertions), walks the list of all detached communications at
 * each end, and rounds dates to surf/precision. With lmm a variable takes its weight as a number,
 * there is no list, and dates are exact to the last bit.
 *
 * libsimgrid exports lmm::System but does not install its header; the members in use are declared
 * below as in SimGrid 3.32. The linker checks the names and argument types of each function against
 * the library.
 *
 * Invariants
 *  1. One engine per process: SimGrid's clock and configuration are global.
 *  2. Between two solutions the system has constraints, which are used again, and no variable.
 *  3. No exception leaves this file.
 */
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <signal.h>

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <simgrid/version.h>

#include "sim/engine/engine_private.h"

#if SIMGRID_VERSION < 33200 || SIMGRID_VERSION >= 33300
#error "The adapter is written for SimGrid 3.32 (Debian 12): check the declaration of "
"lmm::System against your version"
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
    void variable_free(Variable *variable);
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
  explicit Flow(resource::Model *model) : Action(model, 1.0, false) {}
  void update_remains_lazy(double) override {}
};

struct World {
  simgrid::s4u::Engine engine;
  resource::Model model{"orrery"};
  lmm::System *system;                        /* the model's */
  std::vector<lmm::Constraint *> constraints; /* of the links of the largest system so far */
  std::vector<std::unique_ptr<Flow>> flows;   /* of its transfers; without variables */
  OrrSharing *sharing;

  World(int *argc, char **argv);
  World(const World &) = delete;
  World &operator=(const World &) = delete;
  ~World() { orr_sharing_free(sharing); }
};

World::World(int *argc, char **argv) : engine(argc, argv), sharing(nullptr) {
  /* Remaining capacity below this fraction of a link counts as 0: it is rounding. */
  simgrid::s4u::Engine::set_config("maxmin/precision", 1e-12);
  system = lmm::System::build("maxmin", false);
  model.set_maxmin_system(system);
  simgrid::s4u::create_empty_zone("orrery"); /* SimGrid runs no engine without a platform */
}

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

/* Adds the system's transfers and links to SimGrid's, solves it, and takes the transfers off. */
void solve_in(World *world, const OrrSharingSystem *system) {
  lmm::System *simgrid = world->system;
  for (size_t link = world->constraints.size(); link < system->n_links; link++)
    world->constraints.push_back(simgrid->constraint_new(nullptr, 1.0));
  for (size_t transfer = world->flows.size(); transfer < system->n_transfers; transfer++)
    world->flows.push_back(std::make_unique<Flow>(&world->model));
  for (guint32 link = 0; link < system->n_links; link++)
    simgrid->update_constraint_bound(world->constraints[link], system->capacities[link]);
  for (guint32 transfer = 0; transfer < system->n_transfers; transfer++) {
    const guint32 from = system->first_uses[transfer], to = system->first_uses[transfer + 1];
    Flow *flow = world->flows[transfer].get();
    lmm::Variable *variable = simgrid->variable_new(flow, 1.0, -1.0, to - from);
    flow->set_variable(variable);
    for (guint32 u = from; u < to; u++)
      simgrid->expand(world->constraints[system->uses[u].link], variable, system->uses[u].weight,
                      true);
  }
  simgrid->solve();
  for (guint32 transfer = 0; transfer < system->n_transfers; transfer++) {
    Flow *flow = world->flows[transfer].get();
    system->rates[transfer] = flow->get_rate();
    simgrid->variable_free(flow->get_variable());
    flow->set_variable(nullptr);
  }
}

void solve(const OrrSharingSystem *system, void *engine) {
  auto *of = static_cast<OrrEngine *>(engine);
  guard_later(of, [=] { solve_in(world_of(of), system); });
}

/* SimGrid installs handlers for SIGINT and SIGSEGV, with which Ctrl-C crashes a run. Restores the
 * program's handlers. */
void open_world(OrrEngine *engine) {
  static char name[] = "orrery";
  static char quiet[] = "--log=root.thresh:critical";
  static char *arguments[] = {name, quiet, nullptr};
  int count = 2;
  struct sigaction interrupt, crash;
  sigaction(SIGINT, nullptr, &interrupt);
  sigaction(SIGSEGV, nullptr, &crash);
  auto *world = new World(&count, arguments);
  world->sharing = orr_sharing_new(solve, engine);
  engine->state = world;
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
  return guard(error, [engine] { open_world(engine); });
}

void simgrid_close(OrrEngine *engine) {
  guard(nullptr, [engine] { delete world_of(engine); });
  engine->state = nullptr;
}

gboolean simgrid_add_link(OrrEngine *engine, OrrLink link, GError **) {
  orr_sharing_add_link(world_of(engine)->sharing, link);
  return TRUE;
}

void simgrid_start(OrrEngine *engine, OrrTransfer *transfer) {
  orr_sharing_start(world_of(engine)->sharing, transfer);
}

void simgrid_end(OrrEngine *engine, OrrTransfer *transfer) {
  orr_sharing_end(world_of(engine)->sharing, transfer);
}

void simgrid_hold(OrrEngine *engine, OrrTransfer *transfer, gboolean held) {
  orr_sharing_hold(world_of(engine)->sharing, transfer, held);
}

void simgrid_bandwidth_changed(OrrEngine *engine, OrrLink link) {
  orr_sharing_bandwidth_changed(world_of(engine)->sharing, link);
}

void simgrid_settle(OrrEngine *engine) { orr_sharing_settle(world_of(engine)->sharing, engine); }

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
    "simgrid 3.32, lmm max-min, precision 1e-12",
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
