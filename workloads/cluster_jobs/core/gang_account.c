/*
 * gang_account.c - usage with a half-life, and the ranks of fair tree.
 */
#include "workloads/cluster_jobs/core/gang_order.h"

static OrrGangAccount *at(const OrrGangAccounts *accounts, guint i) {
  return &g_array_index(accounts->all, OrrGangAccount, i);
}

static guint add(OrrGangAccounts *accounts, OrrGangAccount account) {
  g_array_append_val(accounts->all, account);
  return accounts->all->len - 1;
}

/* The place of @name below @parent; made where there is none. @known: name to place + 1. */
static guint find(OrrGangAccounts *accounts, GHashTable *known, OrrGangAccount like) {
  char *name = g_strconcat(like.queue, "\n", like.user, NULL); /* a user of NULL ends it */
  guint place = GPOINTER_TO_UINT(g_hash_table_lookup(known, name));
  if (place > 0) {
    g_free(name);
    return place - 1;
  }
  place = add(accounts, like);
  g_hash_table_insert(known, name, GUINT_TO_POINTER(place + 1));
  return place;
}

void orr_gang_accounts_init(OrrGangAccounts *accounts, double half_life_us, GArray *jobs) {
  g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  accounts->half_life_us = half_life_us;
  accounts->all = g_array_new(FALSE, TRUE, sizeof(OrrGangAccount));
  accounts->users = g_array_new(FALSE, FALSE, sizeof(guint));
  ORR_EACH(OrrGangJob, job, jobs) {
    const guint queue = find(accounts, known, (OrrGangAccount){.queue = job->queue});
    job->account = find(accounts, known,
                        (OrrGangAccount){.queue = job->queue, .user = job->user, .parent = queue});
  }
  for (guint i = 0; i < accounts->all->len; i++)
    if (at(accounts, i)->user) g_array_append_val(accounts->users, i);
}

void orr_gang_accounts_clear(OrrGangAccounts *accounts) {
  g_clear_pointer(&accounts->all, g_array_unref);
  g_clear_pointer(&accounts->users, g_array_unref);
}

double orr_gang_accounts_used(const OrrGangAccounts *accounts, guint i, gint64 now_us) {
  const OrrGangAccount *account = at(accounts, i);
  const double span_us = (double)(now_us - account->at_us), half_us = accounts->half_life_us;
  if (!(half_us > 0)) return account->used + (double)account->gpus * span_us;
  const double left = exp2(-span_us / half_us);
  return account->used * left + (double)account->gpus * half_us / M_LN2 * (1 - left);
}

static void settle(OrrGangAccounts *accounts, guint i, gint64 now_us, gint64 gpus) {
  OrrGangAccount *account = at(accounts, i);
  account->used = orr_gang_accounts_used(accounts, i, now_us);
  account->at_us = now_us;
  account->gpus += gpus;
}

void orr_gang_accounts_run(OrrGangAccounts *accounts, const OrrGangJob *job, gint64 now_us,
                           int sign) {
  settle(accounts, job->account, now_us, sign * job->gpus);
  settle(accounts, at(accounts, job->account)->parent, now_us, sign * job->gpus);
}

typedef struct {
  const OrrGangAccounts *accounts;
  gint64 now_us;
} Ranking;

/* By the queue's usage, then the user's; queues of equal usage stay separate. */
static int compare(gconstpointer a, gconstpointer b, gpointer data) {
  const Ranking *ranking = data;
  const guint x = *(const guint *)a, y = *(const guint *)b;
  const guint queue_x = at(ranking->accounts, x)->parent,
              queue_y = at(ranking->accounts, y)->parent;
  const guint first = queue_x == queue_y ? x : queue_x, second = queue_x == queue_y ? y : queue_y;
  const double used_x = orr_gang_accounts_used(ranking->accounts, first, ranking->now_us),
               used_y = orr_gang_accounts_used(ranking->accounts, second, ranking->now_us);
  if (used_x != used_y) return used_x < used_y ? -1 : 1;
  return first < second ? -1 : first > second;
}

/* Whether nothing but their names tells the two apart. */
static gboolean are_even(const Ranking *ranking, guint x, guint y) {
  const OrrGangAccounts *all = ranking->accounts;
  const guint queue_x = at(all, x)->parent, queue_y = at(all, y)->parent;
  const gint64 now_us = ranking->now_us;
  return orr_gang_accounts_used(all, x, now_us) == orr_gang_accounts_used(all, y, now_us) &&
         orr_gang_accounts_used(all, queue_x, now_us) ==
             orr_gang_accounts_used(all, queue_y, now_us);
}

void orr_gang_accounts_rank(OrrGangAccounts *accounts, gint64 now_us) {
  Ranking ranking = {accounts, now_us};
  GArray *users = accounts->users;
  guint rank = 0;
  g_array_sort_with_data(users, compare, &ranking);
  ORR_EACH_VALUE_AT(i, const guint, user, users) {
    if (i > 0 && !are_even(&ranking, g_array_index(users, guint, i - 1), user)) rank = i;
    at(accounts, user)->rank = rank;
  }
}

double orr_gang_accounts_factor(const OrrGangAccounts *accounts, const OrrGangJob *job) {
  const guint n = accounts->users->len;
  return (double)(n - at(accounts, job->account)->rank) / n;
}
