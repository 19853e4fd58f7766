//! The branches that the process of a group hands over to its worker.
//!
//! The process decides which branches begin, and when. It hands over their threads (`uwf_call::handover`), and learns from here how each of
//! them stopped.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use uwf_call::handover::{HandoverNews, HandoverReceiver};

/// Time between two looks for branches that were handed over.
const LOOK: Duration = Duration::from_millis(200);

/// Lets workers play the thread of a branch.
#[async_trait]
pub(crate) trait BranchStarter: Send + Sync {
    /// Starts the workflow of a branch, and follows it until it ends or stops. `delayed` is called with each reason that keeps it from
    /// continuing for now, and with `None` when it continues.
    async fn follow(&self, thread: &str, delayed: &(dyn Fn(Option<String>) + Send + Sync)) -> HandoverNews;

    /// Cancels the workflow of a branch.
    async fn cancel(&self, thread: &str);
}

/// The branches of one group that were handed over to this worker.
pub(crate) struct HandedOverBranches {
    receiver: Arc<HandoverReceiver>,
    starter: Arc<dyn BranchStarter>,
    /// Branches whose workflows may be running.
    open: Arc<Mutex<Vec<String>>>,
    /// Why branches cannot continue for now, by thread.
    delayed: Arc<Mutex<BTreeMap<String, String>>>,
    /// Prints a line for the person who watches the worker.
    say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl HandedOverBranches {
    /// None so far.
    ///
    /// # Errors
    /// If the directory for them can't be created.
    pub(crate) fn new(
        starter: Arc<dyn BranchStarter>,
        say: Arc<dyn Fn(&str) + Send + Sync>,
    ) -> io::Result<HandedOverBranches> {
        let receiver = Arc::new(HandoverReceiver::open()?);
        Ok(HandedOverBranches { receiver, starter, open: Arc::default(), delayed: Arc::default(), say })
    }

    /// The directory in which they are handed over.
    pub(crate) fn dir(&self) -> &Path {
        self.receiver.dir()
    }

    /// Branches that cannot continue for now, by thread, with the reason.
    pub(crate) fn delayed(&self) -> BTreeMap<String, String> {
        self.delayed.lock().clone()
    }

    /// Starts workflows for branches, and reports how they stop. Never ends; workflows continue when it is dropped.
    pub(crate) async fn serve(&self) {
        let mut followed = JoinSet::new();
        loop {
            // A directory that can't be read now is read again.
            for thread in self.receiver.take().unwrap_or_default() {
                self.open.lock().push(thread.clone());
                let (receiver, starter) = (Arc::clone(&self.receiver), Arc::clone(&self.starter));
                let (open, say) = (Arc::clone(&self.open), Arc::clone(&self.say));
                let all_delayed = Arc::clone(&self.delayed);
                followed.spawn(async move {
                    let delayed = |why: Option<String>| {
                        let Some(why) = why else {
                            all_delayed.lock().remove(&thread);
                            return;
                        };
                        say(&format!("thread {thread}, a branch: {why}"));
                        all_delayed.lock().insert(thread.clone(), why.clone());
                        // The group learns it with the next news, if this fails.
                        let _ = receiver.report(&thread, &HandoverNews::Delayed { why });
                    };
                    let end = starter.follow(&thread, &delayed).await;
                    delayed(None);
                    open.lock().retain(|other| *other != thread);
                    // The group also finds the end of the thread in the store.
                    let _ = receiver.report(&thread, &end);
                });
            }
            while followed.try_join_next().is_some() {}
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Cancels the workflows of all branches that are at work, because their group no longer is.
    pub(crate) async fn cancel(&self) {
        let open = std::mem::take(&mut *self.open.lock());
        for thread in open {
            self.starter.cancel(&thread).await;
        }
    }
}
