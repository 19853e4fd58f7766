//! Answers for monitoring: `/metrics` in OpenMetrics, `/healthz` and `/readyz`.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use uwf_core::spending::MoneySource;
use uwf_core::text;
use uwf_engine::attempt::elsewhere::{self, HeldLease};
use uwf_engine::root::{project, registry};
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::cost::{self, CostBy, CostReport, CostRequest};
use uwf_engine::views::list::{self, ThreadFilter};

use crate::app::AppState;
use crate::failure::HttpFailure;

/// Says that the process answers.
pub(crate) const HEALTH: &str = "/healthz";

/// Says whether the threads can be read.
pub(crate) const READINESS: &str = "/readyz";

/// The content type of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Most agents with numbers of their own. A command line is an agent, too, so there can be any number.
const MOST_AGENTS: usize = 50;

/// Most characters of an agent's name.
const AGENT: usize = 80;

/// Numbers by labels.
type CounterFamily = Family<Vec<(&'static str, String)>, Counter>;

/// Numbers that may fall, by labels.
type GaugeFamily = Family<Vec<(&'static str, String)>, Gauge>;

/// Sums that may be fractions, by labels.
type SumFamily = Family<Vec<(&'static str, String)>, Counter<f64, AtomicU64>>;

/// Routes for clients that know the secret.
pub(crate) fn routes() -> Router<AppState> {
    Router::new().route("/metrics", get(metrics))
}

/// Routes for everyone: probes have no secret, and their answers reveal nothing about threads.
pub(crate) fn probes() -> Router<AppState> {
    Router::new().route(HEALTH, get(async || "ok\n")).route(READINESS, get(ready))
}

/// `GET /readyz`: 503 while the storage root or its shared store can't be read.
async fn ready(State(app): State<AppState>) -> Result<&'static str, HttpFailure> {
    app.read(|home| {
        home.config()?;
        registry::read(home)?;
        Ok("ok\n")
    })
    .await
    .map_err(|_| {
        HttpFailure::new(StatusCode::SERVICE_UNAVAILABLE, "the storage root can't be read")
            .hint("`uwf doctor` says why")
    })
}

/// `GET /metrics`
async fn metrics(State(app): State<AppState>) -> Result<Response, HttpFailure> {
    let (cwd, memory) = (app.cwd().to_owned(), app.memory());
    let text = app
        .read(move |home| {
            let all = ThreadFilter { all: true, limit: Some(0), ..ThreadFilter::default() };
            let counts = list::list(home, &all)?.counts;
            let config = project::config(home, &cwd)?;
            // A counter never falls, so it has no run whose usage may still change.
            let by_agent = CostRequest { by: CostBy::Agent, only_ended: true, ..CostRequest::default() };
            let costs = memory.with_costs(|memory| cost::cost_again(home, &config, &by_agent, memory))?;
            let leases = elsewhere::leases(home)?;
            let mut text = String::new();
            encode(&mut text, &registered(&counts, &costs, &leases)).map_err(HttpFailure::internal)?;
            Ok(text)
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

fn registered(counts: &BTreeMap<ThreadState, usize>, costs: &CostReport, leases: &[HeldLease]) -> Registry {
    let mut registry = Registry::with_prefix("uwf");
    let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
    registry.register("build", "The version of uwf", version);
    let threads = Family::<Vec<(&'static str, &'static str)>, Gauge>::default();
    for state in ThreadState::ALL {
        let count = counts.get(&state).copied().unwrap_or(0);
        threads.get_or_create(&vec![("state", state.name())]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    registry.register("threads", "Threads by their state", threads);
    add_costs(&mut registry, costs);
    let requests = CounterFamily::default();
    let json_cas::StoreRequestCounts { answered, failed } = json_cas::store_requests();
    for (result, count) in [("answered", answered), ("failed", failed)] {
        requests.get_or_create(&vec![("result", result.to_owned())]).inc_by(count);
    }
    registry.register("store_requests", "Requests of this server to a shared store", requests);
    add_leases(&mut registry, leases);
    registry
}

/// Adds the leases of running steps on a shared store. A lease is renewed several times before it ends, so a high age means that a machine
/// is gone or cannot reach the store.
fn add_leases(registry: &mut Registry, leases: &[HeldLease]) {
    let (held, ended) = (GaugeFamily::default(), GaugeFamily::default());
    let oldest = Family::<Vec<(&'static str, String)>, Gauge<f64, AtomicU64>>::default();
    for lease in leases {
        let machine = vec![("machine", lease.machine.clone())];
        held.get_or_create(&machine).inc();
        ended.get_or_create(&machine).inc_by(i64::from(lease.age >= lease.lease));
        let age = lease.age.as_secs_f64();
        let known = oldest.get_or_create(&machine);
        known.set(known.get().max(age));
    }
    registry.register("leases", "Leases of running steps on the shared store", held);
    registry.register(
        "leases_expired",
        "Leases that were not renewed in time; the next step of the thread takes over",
        ended,
    );
    let help = "Time since the last renewal of a lease, the longest of the machine";
    registry.register_with_unit("lease_age", help, Unit::Seconds, oldest);
}

/// Adds the attempts, tokens and costs of agents. A step that forks share counts once.
fn add_costs(registry: &mut Registry, costs: &CostReport) {
    let (attempts, tokens, unknown) = (CounterFamily::default(), CounterFamily::default(), CounterFamily::default());
    let (seconds, money) = (SumFamily::default(), SumFamily::default());
    let mut steps = 0;
    for (at, row) in costs.rows.iter().enumerate() {
        let name = row.name.as_deref().filter(|_| at < MOST_AGENTS).unwrap_or("other");
        let agent = ("agent", text::ellipsize(&text::one_line(name), AGENT).into_owned());
        let labels = |more: &[(&'static str, &str)]| {
            let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
            std::iter::once(agent.clone()).chain(more).collect::<Vec<_>>()
        };
        let spent = &row.spent;
        steps += spent.steps as u64;
        for (outcome, count) in [("succeeded", spent.steps), ("failed", spent.failed_attempts)] {
            attempts.get_or_create(&labels(&[("outcome", outcome)])).inc_by(count as u64);
        }
        let kinds = [("input", spent.tokens.input), ("output", spent.tokens.output), ("cached", spent.tokens.cached)];
        for (kind, count) in kinds {
            tokens.get_or_create(&labels(&[("type", kind)])).inc_by(count.unwrap_or(0));
        }
        unknown.get_or_create(&labels(&[])).inc_by(spent.cost_unknown as u64);
        seconds.get_or_create(&labels(&[])).inc_by(spent.duration_ms as f64 / 1000.0);
        for ((currency, source), amount) in &spent.cost {
            let source = match source {
                MoneySource::Provider => "provider",
                MoneySource::Prices => "prices",
                MoneySource::List => "list",
            };
            money.get_or_create(&labels(&[("currency", currency), ("source", source)])).inc_by(*amount);
        }
    }
    let all_steps = Counter::<u64>::default();
    all_steps.inc_by(steps);
    registry.register("steps", "Steps of all threads", all_steps);
    registry.register("attempts", "Attempts of agents that have ended", attempts);
    registry.register_with_unit("agent_work", "Time that agents worked", Unit::Seconds, seconds);
    registry.register("tokens", "Tokens, as agents and providers report them", tokens);
    registry.register("cost", "Money, as providers report it or by prices; the unknown cost is not in it", money);
    registry.register("attempts_of_unknown_cost", "Attempts whose cost is not known", unknown);
}
