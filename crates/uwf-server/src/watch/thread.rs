//! Events of a thread, as `uwf thread live` reports them.
//!
//! New events are read once for all clients. A new client gets the past first, then joins the others where it ends.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::response::Response;
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use uwf_core::event::{OutputStream, ThreadEvent, ThreadEventKind};
use uwf_core::thread::ThreadId;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::home::Home;
use uwf_engine::views::live::{LiveStart, LiveThread};
use uwf_engine::views::signs::SignsOfThread;
use uwf_engine::views::thread_now::ThreadNow;

use super::{ChangeWatch, PACE, stream};
use crate::failure::HttpFailure;

/// Messages kept for a client that reads slowly. A client that is further behind is disconnected, and continues where it was when it
/// reconnects.
const BACKLOG: usize = 1024;

/// Time after which a thread is read even if its files are unchanged, because its parent may have been paused.
const AT_LEAST: Duration = Duration::from_secs(5);

/// How often the past is read again for a new client because something happened meanwhile.
const TRIES: usize = 5;

/// Pasts kept for other clients that connect at the same time.
const PASTS: usize = 4;

/// Event id of a client that has seen the end of a thread.
pub(crate) const END: &str = "end";

/// Events that a client wants to see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventSelection {
    /// Where to begin.
    pub(crate) from: LiveStart,
    /// Whether to include the agents' stderr.
    pub(crate) debug: bool,
}

/// Threads with clients.
#[derive(Default)]
pub(crate) struct ThreadFeeds(Mutex<HashMap<ThreadId, Arc<ThreadFeed>>>);

/// One thread with clients.
struct ThreadFeed {
    reader: Arc<AsyncMutex<FeedReader>>,
    messages: broadcast::Sender<FeedMessage>,
}

/// An event, ready to be sent.
#[derive(Debug, Clone)]
struct FeedMessage {
    bytes: Bytes,
    is_stderr: bool,
    is_end: bool,
}

impl ThreadFeeds {
    /// Returns a stream of events of a thread. It ends with the thread.
    ///
    /// # Errors
    /// `NotFound` for an unknown thread; unreadable nodes.
    pub(crate) async fn listen(
        &self,
        watch: &ChangeWatch,
        thread: ThreadId,
        wish: EventSelection,
    ) -> Result<Response, HttpFailure> {
        let feed = self.feed(watch, thread);
        // Hold the lock until the client is subscribed, so that it misses no event.
        let reader = feed.reader.clone().lock_owned().await;
        let (reader, joined) = watch.reader.read(move |home| joined(reader, home, wish.from)).await?;
        feed.send(joined.news);
        let messages = feed.messages.subscribe();
        drop(reader);
        Ok(stream::answer(FeedClient { past: joined.past.iter().cloned().collect(), messages, wish, has_ended: false }))
    }

    fn feed(&self, watch: &ChangeWatch, thread: ThreadId) -> Arc<ThreadFeed> {
        let mut feeds = self.0.lock();
        let begin = || {
            let reader = Arc::new(AsyncMutex::new(FeedReader::for_thread(thread.clone())));
            let feed = Arc::new(ThreadFeed { reader, messages: broadcast::Sender::new(BACKLOG) });
            tokio::spawn(follow(watch.clone(), thread.clone(), feed.clone()));
            feed
        };
        feeds.entry(thread.clone()).or_insert_with(begin).clone()
    }

    /// Forgets a thread if it has no clients and none is about to join. Returns whether it did.
    fn forgets(&self, thread: &ThreadId, feed: &Arc<ThreadFeed>) -> bool {
        let mut feeds = self.0.lock();
        // This map and the thread's task each hold one reference; a client that is about to join holds another.
        let is_idle = feed.messages.receiver_count() == 0 && Arc::strong_count(feed) <= 2;
        if is_idle {
            feeds.remove(thread);
        }
        is_idle
    }

    /// Disconnects all clients of a thread.
    fn close(&self, thread: &ThreadId) {
        self.0.lock().remove(thread);
    }
}

impl ThreadFeed {
    fn send(&self, news: Vec<FeedMessage>) {
        for message in news {
            // Fails if all clients have left.
            let _ = self.messages.send(message);
        }
    }
}

/// Reads new events of a thread as long as it has clients.
async fn follow(watch: ChangeWatch, thread: ThreadId, feed: Arc<ThreadFeed>) {
    loop {
        tokio::time::sleep(PACE).await;
        if watch.watched.threads.forgets(&thread, &feed) {
            return;
        }
        let mut reader = feed.reader.clone().lock_owned().await;
        let looked = watch.reader.read(move |home| {
            let news = reader.read_new_events(home);
            Ok((reader, news))
        });
        match looked.await {
            Ok((_reader, Ok(news))) => feed.send(news),
            // An unreadable node may be restored later.
            Ok((_, Err(error))) if error.kind != ErrorKind::NotFound => {}
            Ok((_, Err(_))) | Err(_) => return watch.watched.threads.close(&thread),
        }
    }
}

/// Reads a thread for all its clients.
struct FeedReader {
    thread: ThreadId,
    signs: SignsOfThread,
    /// The signs at the last look.
    seen: Option<u64>,
    looked: Instant,
    /// Reads new events; `None` before the first look.
    live: Option<LiveThread>,
    /// Pasts shown to clients that came since the last change.
    pasts: Vec<(LiveStart, Arc<[FeedMessage]>)>,
}

/// Messages for a new client and for the others.
struct ClientMessages {
    past: Arc<[FeedMessage]>,
    /// Messages for the clients that were there before.
    news: Vec<FeedMessage>,
}

fn joined(
    mut reader: OwnedMutexGuard<FeedReader>,
    home: &Home,
    from: LiveStart,
) -> Result<(OwnedMutexGuard<FeedReader>, ClientMessages), HttpFailure> {
    let joined = reader.join(home, from)?;
    Ok((reader, joined))
}

impl FeedReader {
    fn for_thread(thread: ThreadId) -> FeedReader {
        let signs = SignsOfThread::new(thread.clone());
        FeedReader { thread, signs, seen: None, looked: Instant::now(), live: None, pasts: Vec::new() }
    }

    /// Returns the events since the last look. Reads nothing if the signs are unchanged.
    fn read_new_events(&mut self, home: &Home) -> Result<Vec<FeedMessage>, Error> {
        let signs = self.signs.fingerprint(home);
        let is_calm = self.seen == Some(signs) && self.looked.elapsed() < AT_LEAST;
        if is_calm && self.live.is_some() {
            return Ok(Vec::new());
        }
        let is_first = self.live.is_none();
        let events = match &mut self.live {
            Some(live) => live.poll(home)?,
            none => {
                let now = ThreadNow::read(home, &self.thread)?;
                none.insert(LiveThread::watch(self.thread.clone(), LiveStart::After(now.thread.head), None))
                    .poll_at(&now)?
            }
        };
        // A change after the signs were read is found by the next look.
        (self.seen, self.looked) = (Some(signs), Instant::now());
        if !events.is_empty() {
            self.pasts.clear();
        }
        // The events of the first look are the past.
        Ok(if is_first { Vec::new() } else { events.into_iter().map(FeedMessage::from_event).collect() })
    }

    /// Returns the past, up to where the other clients are. If something happens while it is read, it is read again. If that happens each
    /// time, the new client gets some events twice.
    fn join(&mut self, home: &Home, from: LiveStart) -> Result<ClientMessages, Error> {
        let mut news = self.read_new_events(home)?;
        if let Some((_, past)) = self.pasts.iter().find(|(known, _)| *known == from) {
            return Ok(ClientMessages { past: past.clone(), news });
        }
        let mut past: Arc<[FeedMessage]> = Arc::default();
        for _ in 0..TRIES {
            past = past_of(&self.thread, home, from)?.into();
            let meanwhile = self.read_new_events(home)?;
            let was_calm = meanwhile.is_empty();
            news.extend(meanwhile);
            if was_calm {
                self.pasts.truncate(PASTS - 1);
                self.pasts.insert(0, (from, past.clone()));
                break;
            }
        }
        Ok(ClientMessages { past, news })
    }
}

/// The past as messages. The last one has the current position, so that a client without any step can continue there as well.
fn past_of(thread: &ThreadId, home: &Home, from: LiveStart) -> Result<Vec<FeedMessage>, Error> {
    let mut live = LiveThread::watch(thread.clone(), from, None);
    let mut events = live.poll(home)?;
    let last = events.pop().map(|event| {
        let id = position(&event).or_else(|| Some(live.head()?.to_string()));
        FeedMessage::with_id(&event, id.as_deref())
    });
    Ok(events.into_iter().map(FeedMessage::from_event).chain(last).collect())
}

/// The id that a client sends when it reconnects after this event; `None` if that is still the id of an earlier event.
fn position(event: &ThreadEvent) -> Option<String> {
    match &event.what {
        ThreadEventKind::Step(step) if event.depth == 0 => Some(step.hash.to_string()),
        ThreadEventKind::End { .. } if event.depth == 0 => Some(END.to_owned()),
        _ => None,
    }
}

impl FeedMessage {
    fn from_event(event: ThreadEvent) -> FeedMessage {
        FeedMessage::with_id(&event, position(&event).as_deref())
    }

    fn with_id(event: &ThreadEvent, id: Option<&str>) -> FeedMessage {
        let data = serde_json::to_string(event).expect("an event is JSON");
        FeedMessage {
            bytes: stream::message(event.what.name(), id, &data),
            is_stderr: matches!(event.what, ThreadEventKind::Output { stream: OutputStream::Stderr, .. }),
            is_end: event.depth == 0 && matches!(event.what, ThreadEventKind::End { .. }),
        }
    }
}

/// A client.
struct FeedClient {
    past: VecDeque<FeedMessage>,
    messages: broadcast::Receiver<FeedMessage>,
    wish: EventSelection,
    has_ended: bool,
}

impl stream::MessageSource for FeedClient {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.has_ended {
                return None;
            }
            let message = match self.past.pop_front() {
                Some(message) => message,
                None => match self.messages.recv().await {
                    Ok(message) => message,
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return None,
                },
            };
            self.has_ended = message.is_end;
            if !message.is_stderr || self.wish.debug {
                return Some(message.bytes);
            }
        }
    }
}
