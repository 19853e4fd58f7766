//! A thread: its events, as `uwf thread live` has them.
//!
//! What is new is read once for all who listen. Whoever comes gets the past first, and joins the others where it ends.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::response::Response;
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use uwf_core::event::{Event, Stream, What};
use uwf_core::thread::ThreadId;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::home::Home;
use uwf_engine::verbs::live::{From, Live};
use uwf_engine::verbs::show;
use uwf_engine::verbs::signs::SignsOfThread;

use super::{PACE, Watch, stream};
use crate::failure::Failure;

/// Messages that are kept for a client that reads slowly. One that is further behind is sent away, and continues where it was
/// when it comes back.
const BACKLOG: usize = 1024;

/// Time after which a thread is read although its files are as they were: what is above it may have been paused.
const AT_LEAST: Duration = Duration::from_secs(5);

/// How often somebody who comes is shown the past anew, because something happened meanwhile.
const TRIES: usize = 5;

/// Pasts that are kept for others who come at the same time.
const PASTS: usize = 4;

/// What a client that has seen the end of a thread has seen last.
pub(crate) const END: &str = "end";

/// What a client wants to see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// Where to begin.
    pub(crate) from: From,
    /// Whether to show what agents print on stderr.
    pub(crate) debug: bool,
}

/// Threads that somebody listens to.
#[derive(Default)]
pub(crate) struct Threads(Mutex<HashMap<ThreadId, Arc<Feed>>>);

/// One of them.
struct Feed {
    reader: Arc<AsyncMutex<Reader>>,
    messages: broadcast::Sender<Message>,
}

/// An event, ready to be sent.
#[derive(Debug, Clone)]
struct Message {
    bytes: Bytes,
    is_stderr: bool,
    is_end: bool,
}

impl Threads {
    /// A stream of events of a thread. It ends with the thread.
    ///
    /// # Errors
    /// `NotFound`; those of its nodes.
    pub(crate) async fn listen(&self, watch: &Watch, thread: ThreadId, wish: Wish) -> Result<Response, Failure> {
        let feed = self.feed(watch, thread);
        // The lock is kept from the look until the client is among those who get what is found next.
        let reader = feed.reader.clone().lock_owned().await;
        let (reader, joined) = watch.reader.read(move |home| joined(reader, home, wish.from)).await?;
        feed.send(joined.news);
        let messages = feed.messages.subscribe();
        drop(reader);
        Ok(stream::answer(Listener { past: joined.past.iter().cloned().collect(), messages, wish, has_ended: false }))
    }

    fn feed(&self, watch: &Watch, thread: ThreadId) -> Arc<Feed> {
        let mut feeds = self.0.lock();
        let begin = || {
            let reader = Arc::new(AsyncMutex::new(Reader::of(thread.clone())));
            let feed = Arc::new(Feed { reader, messages: broadcast::Sender::new(BACKLOG) });
            tokio::spawn(follow(watch.clone(), thread.clone(), feed.clone()));
            feed
        };
        feeds.entry(thread.clone()).or_insert_with(begin).clone()
    }

    /// Forgets a thread that nobody listens to, nor is about to; whether it did.
    fn forgets(&self, thread: &ThreadId, feed: &Arc<Feed>) -> bool {
        let mut feeds = self.0.lock();
        // One is kept here and one by its task; whoever is about to listen has another one.
        let is_idle = feed.messages.receiver_count() == 0 && Arc::strong_count(feed) <= 2;
        if is_idle {
            feeds.remove(thread);
        }
        is_idle
    }

    /// Sends everybody away who listens to a thread.
    fn close(&self, thread: &ThreadId) {
        self.0.lock().remove(thread);
    }
}

impl Feed {
    fn send(&self, news: Vec<Message>) {
        for message in news {
            // Nobody may be there to get it.
            let _ = self.messages.send(message);
        }
    }
}

/// Reads what is new in a thread until nobody listens.
async fn follow(watch: Watch, thread: ThreadId, feed: Arc<Feed>) {
    loop {
        tokio::time::sleep(PACE).await;
        if watch.watched.threads.forgets(&thread, &feed) {
            return;
        }
        let mut reader = feed.reader.clone().lock_owned().await;
        let looked = watch.reader.read(move |home| {
            let news = reader.look(home);
            Ok((reader, news))
        });
        match looked.await {
            Ok((_reader, Ok(news))) => feed.send(news),
            // A node that cannot be read now may be put back.
            Ok((_, Err(error))) if error.kind != ErrorKind::NotFound => {}
            Ok((_, Err(_))) | Err(_) => return watch.watched.threads.close(&thread),
        }
    }
}

/// What reads a thread for all who listen to it.
struct Reader {
    thread: ThreadId,
    signs: SignsOfThread,
    /// The signs at the last look.
    seen: Option<u64>,
    looked: Instant,
    /// Reads what is new; `None` before the first look.
    live: Option<Live>,
    /// What others who came since the last change were shown.
    pasts: Vec<(From, Arc<[Message]>)>,
}

/// What somebody gets who comes.
struct Joined {
    past: Arc<[Message]>,
    /// What those get who were there before.
    news: Vec<Message>,
}

fn joined(
    mut reader: OwnedMutexGuard<Reader>,
    home: &Home,
    from: From,
) -> Result<(OwnedMutexGuard<Reader>, Joined), Failure> {
    let joined = reader.join(home, from)?;
    Ok((reader, joined))
}

impl Reader {
    fn of(thread: ThreadId) -> Reader {
        let signs = SignsOfThread::of(thread.clone());
        Reader { thread, signs, seen: None, looked: Instant::now(), live: None, pasts: Vec::new() }
    }

    /// What happened since the last look. Nothing is read when there is no sign of anything.
    fn look(&mut self, home: &Home) -> Result<Vec<Message>, Error> {
        let signs = self.signs.look(home);
        let is_calm = self.seen == Some(signs) && self.looked.elapsed() < AT_LEAST;
        if is_calm && self.live.is_some() {
            return Ok(Vec::new());
        }
        let is_first = self.live.is_none();
        let live = match &mut self.live {
            Some(live) => live,
            none => none.insert(Live::of(self.thread.clone(), From::After(show::show(home, &self.thread)?.head), None)),
        };
        let events = live.poll(home)?;
        // What was signed after the look at the signs is seen by the next one.
        (self.seen, self.looked) = (Some(signs), Instant::now());
        if !events.is_empty() {
            self.pasts.clear();
        }
        // What there was at the first look is the past of whoever made it.
        Ok(if is_first { Vec::new() } else { events.into_iter().map(Message::of).collect() })
    }

    /// The past, as far as the others have it. If something happens between reading it and looking what they have, it is
    /// read again; whoever is unlucky each time gets something twice.
    fn join(&mut self, home: &Home, from: From) -> Result<Joined, Error> {
        let mut news = self.look(home)?;
        if let Some((_, past)) = self.pasts.iter().find(|(known, _)| *known == from) {
            return Ok(Joined { past: past.clone(), news });
        }
        let mut past: Arc<[Message]> = Arc::default();
        for _ in 0..TRIES {
            past = past_of(&self.thread, home, from)?.into();
            let meanwhile = self.look(home)?;
            let was_calm = meanwhile.is_empty();
            news.extend(meanwhile);
            if was_calm {
                self.pasts.truncate(PASTS - 1);
                self.pasts.insert(0, (from, past.clone()));
                break;
            }
        }
        Ok(Joined { past, news })
    }
}

/// The past as messages. The last one says where the thread stands: a client without any step continues there as well.
fn past_of(thread: &ThreadId, home: &Home, from: From) -> Result<Vec<Message>, Error> {
    let mut live = Live::of(thread.clone(), from, None);
    let mut events = live.poll(home)?;
    let last = events.pop().map(|event| {
        let id = position(&event).or_else(|| Some(live.head()?.to_string()));
        Message::with_id(&event, id.as_deref())
    });
    Ok(events.into_iter().map(Message::of).chain(last).collect())
}

/// What a client that has seen an event sends when it comes back, if it is another one than before.
fn position(event: &Event) -> Option<String> {
    match &event.what {
        What::Step(step) if event.depth == 0 => Some(step.hash.to_string()),
        What::End { .. } if event.depth == 0 => Some(END.to_owned()),
        _ => None,
    }
}

impl Message {
    fn of(event: Event) -> Message {
        Message::with_id(&event, position(&event).as_deref())
    }

    fn with_id(event: &Event, id: Option<&str>) -> Message {
        let data = serde_json::to_string(event).expect("an event is JSON");
        Message {
            bytes: stream::message(event.what.name(), id, &data),
            is_stderr: matches!(event.what, What::Output { stream: Stream::Stderr, .. }),
            is_end: event.depth == 0 && matches!(event.what, What::End { .. }),
        }
    }
}

/// A client.
struct Listener {
    past: VecDeque<Message>,
    messages: broadcast::Receiver<Message>,
    wish: Wish,
    has_ended: bool,
}

impl stream::Source for Listener {
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
