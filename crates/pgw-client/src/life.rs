//! Which calls are under way, and whether new ones may begin.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// The life of a client: open, then closed for good.
///
/// A call counts itself, then looks whether the client is closed; closing marks it closed, then looks
/// for calls. Both orders must hold for everybody (`SeqCst`): with less, each side may miss what the
/// other has just written, and a call would begin beside a close that saw none.
#[derive(Debug, Default)]
pub(crate) struct Life {
    closed: AtomicBool,
    calls: AtomicUsize,
    idle: Notify,
}

/// Counts one call as under way until it is dropped.
#[derive(Debug)]
pub(crate) struct CallGuard(Arc<Life>);

impl Life {
    /// Counts a call in; `None` once the client is closed.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<CallGuard> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let guard = CallGuard(Arc::clone(self));
        (!self.closed.load(Ordering::SeqCst)).then_some(guard)
    }

    /// Lets no new call in and waits for those under way.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        loop {
            // Made before the look: it hears of a call that ends in between.
            let idle = self.idle.notified();
            if self.calls.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if self.0.calls.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn closing_waits_for_the_last_call_and_lets_none_in() {
        let life = Arc::new(Life::default());
        let (first, second) = (life.begin().unwrap(), life.begin().unwrap());
        let mut closing = Box::pin(life.close());
        assert!((&mut closing).now_or_never().is_none(), "two calls are under way");
        drop(first);
        assert!((&mut closing).now_or_never().is_none(), "one call is under way");
        assert!(life.begin().is_none(), "it is closed");
        assert!((&mut closing).now_or_never().is_none(), "one call is still under way");
        drop(second);
        assert!(closing.now_or_never().is_some(), "no call is under way");
        assert!(life.close().now_or_never().is_some(), "it may be said twice");
    }

    #[test]
    fn a_closing_that_is_dropped_may_be_said_again() {
        let life = Arc::new(Life::default());
        let call = life.begin().unwrap();
        assert!(life.close().now_or_never().is_none());
        drop(call);
        assert!(life.close().now_or_never().is_some());
    }

    /// A call beside a close is either refused or waited for.
    #[test]
    fn no_call_begins_unseen_beside_a_close() {
        for _ in 0..2_000 {
            let life = Arc::new(Life::default());
            let (call, ended) = thread::scope(|scope| {
                let call = scope.spawn(|| life.begin());
                let ended = life.close().now_or_never().is_some();
                (call.join().unwrap(), ended)
            });
            assert!(call.is_none() || !ended, "a call began after the close had seen none");
        }
    }
}
