//! Changes of the list of threads. The page has the list itself.

use axum::body::Bytes;
use axum::response::Response;
use tokio::sync::{Mutex, watch as channel};
use uwf_engine::verbs::signs::SignsOfList;

use super::{PACE, Watch, stream};
use crate::failure::Failure;

/// Whoever listens to the list.
#[derive(Default)]
pub(crate) struct Lists {
    /// The version of the list; `None` while nobody listens.
    version: Mutex<Option<channel::Sender<String>>>,
}

impl Lists {
    /// A stream of its versions. The first one comes at once, unless it is the one that the client has seen last.
    ///
    /// # Errors
    /// A bug.
    pub(crate) async fn listen(&self, watch: &Watch, seen: Option<&str>) -> Result<Response, Failure> {
        let mut listener = self.subscribe(watch).await?;
        if seen != Some(listener.borrow().as_str()) {
            listener.mark_changed();
        }
        Ok(stream::answer(Listener(listener)))
    }

    /// A stream of its versions and of other changes.
    ///
    /// # Errors
    /// A bug.
    pub(crate) async fn listen_and(&self, watch: &Watch, others: channel::Receiver<u64>) -> Result<Response, Failure> {
        let mut list = self.subscribe(watch).await?;
        list.mark_changed();
        Ok(stream::answer(Both { list, others }))
    }

    async fn subscribe(&self, watch: &Watch) -> Result<channel::Receiver<String>, Failure> {
        let mut version = self.version.lock().await;
        if let Some(sender) = &*version {
            return Ok(sender.subscribe());
        }
        let (signs, now) = look(watch, SignsOfList::default()).await?;
        let (sender, listener) = channel::channel(now);
        *version = Some(sender);
        tokio::spawn(follow(watch.clone(), signs));
        Ok(listener)
    }
}

struct Listener(channel::Receiver<String>);

impl stream::Source for Listener {
    async fn next(&mut self) -> Option<Bytes> {
        self.0.changed().await.ok()?;
        let version = self.0.borrow_and_update();
        Some(stream::message("threads", Some(&version), &serde_json::json!({ "version": *version }).to_string()))
    }
}

/// The list, and what else changes beside it.
struct Both {
    list: channel::Receiver<String>,
    others: channel::Receiver<u64>,
}

impl stream::Source for Both {
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            changed = self.list.changed() => changed.ok()?,
            changed = self.others.changed() => changed.ok()?,
        }
        let version = format!("{}-{}", *self.list.borrow(), *self.others.borrow());
        // Without an id: whoever comes back is told at once, as the numbers of another gateway mean something else.
        Some(stream::message("threads", None, &serde_json::json!({ "version": version }).to_string()))
    }
}

/// Looks at the list until nobody listens.
async fn follow(watch: Watch, mut signs: SignsOfList) {
    loop {
        tokio::time::sleep(PACE).await;
        let looked = look(&watch, signs).await;
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

async fn look(watch: &Watch, mut signs: SignsOfList) -> Result<(SignsOfList, String), Failure> {
    watch
        .reader
        .read(move |home| {
            let version = format!("{:016x}", signs.look(home));
            Ok((signs, version))
        })
        .await
}
