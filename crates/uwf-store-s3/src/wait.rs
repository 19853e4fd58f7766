//! Runs the clients' futures as blocking calls.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct UnparkWaker(Thread);

impl Wake for UnparkWaker {
    fn wake(self: Arc<UnparkWaker>) {
        self.0.unpark();
    }
}

/// Waits for a future in this thread.
///
/// The transport below the client does its work within the call and never waits for a runtime, so no runtime is needed, neither ours nor
/// the caller's. Calling this inside another runtime is harmless. A future only ever waits for another thread that fetches credentials.
pub(crate) fn wait_for<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(UnparkWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
