//! `GET /api/gateway/events`: announces changes of any list of threads (the gateway's own or a machine's) and of the connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::task::{AbortHandle, JoinSet};

use super::lists;
use crate::app::AppState;
use crate::failure::HttpFailure;
use crate::machines::MachineGateway;
use crate::machines::name::MachineName;
use crate::watch::BEAT;

/// Path of these events.
pub(crate) const PATH: &str = "/api/gateway/events";

/// Time between two requests to a machine. Each makes the machine list its threads, so the time is longer than between two looks at the
/// gateway's own list.
const PACE: Duration = Duration::from_secs(1);

pub(super) fn routes() -> Router<AppState> {
    Router::new().route(PATH, get(events))
}

async fn events(State(app): State<AppState>) -> Result<Response, HttpFailure> {
    let gateway = lists::gateway(&app)?;
    let (changes, is_first) = gateway.listen();
    if is_first {
        tokio::spawn(follow(gateway));
    }
    app.watch().list_and(changes).await
}

/// Follows the machines as long as there are clients. `MachineGateway::keep` announces the differences.
async fn follow(gateway: Arc<MachineGateway>) {
    let mut followed: BTreeMap<MachineName, AbortHandle> = BTreeMap::new();
    // The tasks end with it.
    let mut tasks = JoinSet::new();
    while gateway.is_listened() {
        for (name, _) in gateway.names().into_iter().filter(|(_, is_connected)| *is_connected) {
            if followed.get(&name).is_none_or(AbortHandle::is_finished) {
                let task = tasks.spawn(follow_machine(gateway.clone(), name.clone()));
                followed.insert(name, task);
            }
        }
        tokio::time::sleep(PACE).await;
        while tasks.try_join_next().is_some() {}
    }
}

/// Fetches a machine's list whenever the machine announces a new version, until the announcements end. The first one comes at once.
async fn follow_machine(gateway: Arc<MachineGateway>, name: MachineName) {
    let Some(mut said) = lists::events(&gateway, &name).await else { return };
    while has_news(&mut said).await {
        lists::refreshed(gateway.clone(), name.clone()).await;
        tokio::time::sleep(PACE).await;
    }
}

/// Waits for an event. Events that arrived meanwhile carry the same news, so they are skipped.
async fn has_news(said: &mut Body) -> bool {
    loop {
        match said.frame().await {
            // A heartbeat.
            Some(Ok(frame)) if frame.data_ref().is_some_and(is_beat) => {}
            Some(Ok(_)) => break,
            Some(Err(_)) | None => return false,
        }
    }
    while let Some(Some(Ok(_))) = said.frame().now_or_never() {}
    true
}

/// Whether a machine says only that it is there; older machines send a comment.
fn is_beat(data: &Bytes) -> bool {
    *data == BEAT || data.starts_with(b":")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Json;
    use futures_util::{StreamExt, stream};
    use hyper_util::rt::TokioIo;
    use hyper_util::service::TowerToHyperService;
    use tokio::sync::{oneshot, watch};
    use uwf_engine::root::home::Home;

    use super::*;
    use crate::machines::tokens::MachineTokens;
    use crate::machines::{MachineProfile, MachineSummary};
    use crate::tunnel;

    /// A stream of these messages that then stays silent.
    fn said(messages: &'static [&'static str]) -> Body {
        let messages = messages.iter().map(|text| Ok::<_, Infallible>(Bytes::from_static(text.as_bytes())));
        Body::from_stream(stream::iter(messages).chain(stream::pending()))
    }

    #[tokio::test]
    async fn repeated_events_count_once_and_keepalives_never() {
        let mut body = said(&[":\n\n", "event: threads\n\n", "event: threads\n\n", ":\n\n"]);
        assert!(has_news(&mut body).await);
        assert_eq!(has_news(&mut body).now_or_never(), None, "nothing more has been said");
        assert_eq!(has_news(&mut said(&[":\n\n"])).now_or_never(), None);
        assert!(!has_news(&mut Body::empty()).await, "a stream that ended has no news");
    }
    /// A machine that announces changes from `changes`, and counts in `asked` how often its list is requested.
    async fn connected(
        gateway: &MachineGateway,
        name: &MachineName,
        changes: watch::Receiver<()>,
        asked: Arc<AtomicUsize>,
    ) {
        let say = || async move {
            Body::from_stream(stream::unfold(changes, |mut changes| async move {
                changes.changed().await.ok()?;
                Some((Ok::<_, Infallible>("event: threads\n\n"), changes))
            }))
        };
        let list = || async move {
            asked.fetch_add(1, Ordering::Relaxed);
            Json(MachineSummary::default())
        };
        let machine = Router::new().route("/api/events", get(say)).route("/api/gateway/summary", get(list));
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(tunnel::server().serve_connection(TokioIo::new(far), TowerToHyperService::new(machine)));
        let (requests, answers) = tunnel::client().handshake(TokioIo::new(near)).await.unwrap();
        tokio::spawn(answers);
        let about = MachineProfile { version: String::new(), read_only: false };
        gateway.connected(name, about, String::new(), requests, oneshot::channel().0);
    }

    #[tokio::test]
    async fn machine_is_queried_only_after_reported_changes() {
        let dir = tempfile::tempdir().unwrap();
        let gateway = Arc::new(MachineGateway::new(MachineTokens::of_root(&Home::open(dir.path(), "uwf"))));
        let name: MachineName = "laptop".parse().unwrap();
        let (change, changes) = watch::channel(());
        let asked = Arc::new(AtomicUsize::new(0));
        connected(&gateway, &name, changes, asked.clone()).await;
        let (listener, is_first) = gateway.listen();
        assert!(is_first);
        let following = tokio::spawn(follow(gateway.clone()));
        let mut counts = Vec::new();
        for changes in [0, 1, 3] {
            (0..changes).for_each(|_| change.send_replace(()));
            tokio::time::sleep(PACE * 5 / 2).await;
            counts.push(asked.load(Ordering::Relaxed));
        }
        assert_eq!(counts, [0, 1, 2]);
        // Without clients, the gateway stops listening to the machine. One receiver is always left: the machine clones it for each stream.
        assert_eq!(change.receiver_count(), 2);
        drop(listener);
        following.await.unwrap();
        let ended = async {
            while change.receiver_count() > 1 {
                tokio::time::sleep(PACE / 100).await;
            }
        };
        tokio::time::timeout(PACE, ended).await.expect("the machine's stream ends");
    }
}
