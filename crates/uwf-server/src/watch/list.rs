//! Changes of the list of threads. The list itself is in the page.

use axum::body::Bytes;
use axum::response::Response;
use tokio::sync::{Mutex, watch as channel};
use uwf_engine::views::signs::SignsOfList;

use super::{ChangeWatch, PACE, stream};
use crate::failure::HttpFailure;

/// Clients of the list.
#[derive(Default)]
pub(crate) struct ListFeed {
    /// Version of the list; `None` without clients.
    version: Mutex<Option<channel::Sender<String>>>,
}

impl ListFeed {
    /// Returns a stream of the list's versions. The first one is sent at once, unless the client has already seen it.
    pub(crate) async fn listen(&self, watch: &ChangeWatch, seen: Option<&str>) -> Result<Response, HttpFailure> {
        let mut listener = self.subscribe(watch).await?;
        if seen != Some(listener.borrow().as_str()) {
            listener.mark_changed();
        }
        Ok(stream::answer(ListVersions(listener)))
    }

    /// Returns a stream of the list's versions and of other changes.
    pub(crate) async fn listen_and(
        &self,
        watch: &ChangeWatch,
        others: channel::Receiver<u64>,
    ) -> Result<Response, HttpFailure> {
        let mut list = self.subscribe(watch).await?;
        list.mark_changed();
        Ok(stream::answer(ListChanges { list, others }))
    }

    async fn subscribe(&self, watch: &ChangeWatch) -> Result<channel::Receiver<String>, HttpFailure> {
        let mut version = self.version.lock().await;
        if let Some(sender) = &*version {
            return Ok(sender.subscribe());
        }
        let (signs, now) = read_list_version(watch, SignsOfList::default()).await?;
        let (sender, listener) = channel::channel(now);
        *version = Some(sender);
        tokio::spawn(follow(watch.clone(), signs));
        Ok(listener)
    }
}

struct ListVersions(channel::Receiver<String>);

impl stream::MessageSource for ListVersions {
    async fn next(&mut self) -> Option<Bytes> {
        self.0.changed().await.ok()?;
        let version = self.0.borrow_and_update();
        Some(stream::message("threads", Some(&version), &serde_json::json!({ "version": *version }).to_string()))
    }
}

/// The list, together with other changes.
struct ListChanges {
    list: channel::Receiver<String>,
    others: channel::Receiver<u64>,
}

impl stream::MessageSource for ListChanges {
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            changed = self.list.changed() => changed.ok()?,
            changed = self.others.changed() => changed.ok()?,
        }
        let version = format!("{}-{}", *self.list.borrow(), *self.others.borrow());
        // Without an id, so that a client that reconnects is notified at once: another gateway's numbers mean something else.
        Some(stream::message("threads", None, &serde_json::json!({ "version": version }).to_string()))
    }
}

/// Looks at the list as long as it has clients.
async fn follow(watch: ChangeWatch, mut signs: SignsOfList) {
    loop {
        tokio::time::sleep(PACE).await;
        let looked = read_list_version(&watch, signs).await;
        let mut version = watch.watched.list.version.lock().await;
        let listened = version.as_ref().filter(|sender| sender.receiver_count() > 0);
        let (Some(sender), Ok((same, now))) = (listened, looked) else {
            *version = None;
            return;
        };
        signs = same;
        sender.send_if_modified(|before| {
            let is_new = *before != now;
            *before = now;
            is_new
        });
    }
}

async fn read_list_version(watch: &ChangeWatch, mut signs: SignsOfList) -> Result<(SignsOfList, String), HttpFailure> {
    watch
        .reader
        .read(move |home| {
            let version = format!("{:016x}", signs.fingerprint(home));
            Ok((signs, version))
        })
        .await
}
