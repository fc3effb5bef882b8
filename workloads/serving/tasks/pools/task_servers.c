/*
 * task_servers.c - servers with one queue, and the books of what they did.
 */
#include "workloads/serving/tasks/pools/task_pool.h"
#include "workloads/service_pool.h"

struct OrrTaskServers {
  OrrTaskPoolHost host;
  OrrServicePool *pool;
  gint64 servers, in_pool;
};

static void done(void *user, void *request) {
  OrrTaskServers *servers = user;
  OrrTaskJob *job = request;
  OrrTaskPoolBooks *books = servers->host.books;
  job->begin_s = orr_engine_now(servers->host.engine) - job->work_s;
  servers->in_pool--;
  books->jobs++;
  books->cut += job->is_cut;
  books->busy_s += job->work_s;
  books->waited_s += MAX(job->begin_s - job->asked_s, 0);
  servers->host.done(servers->host.user, job);
}

OrrTaskServers *orr_task_servers_new(const OrrTaskPoolHost *host, gint64 n) {
  OrrTaskServers *servers = g_new0(OrrTaskServers, 1);
  *servers = (OrrTaskServers){.host = *host, .servers = n};
  const OrrServiceParams params = {
      .engine = host->engine, .workers = n, .done = done, .user = servers};
  servers->pool = orr_service_pool_new(&params);
  return servers;
}

void orr_task_servers_add(OrrTaskServers *servers, OrrTaskJob *job, double service_s) {
  OrrTaskPoolBooks *books = servers->host.books;
  job->work_s = service_s;
  servers->in_pool++;
  if (servers->servers > 0)
    books->most_waiting = MAX(books->most_waiting, servers->in_pool - servers->servers);
  orr_service_pool_add_for(servers->pool, job, service_s);
}

void orr_task_servers_free(gpointer data) {
  OrrTaskServers *servers = data;
  orr_service_pool_free(servers->pool);
  g_free(servers);
}
