//! Many calls, a few at a time.

use std::{
    fmt,
    future::IntoFuture,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pgw_types::PgwError;

/// Makes `calls`, at most `concurrency` of them at a time, and hands back what became of each, in
/// the order of the calls. A concurrency of 0 counts as 1.
///
/// A call that fails ends nothing but itself. It is no queue: whatever is not done when the whole
/// is dropped is gone, with the calls in flight cancelled and the others never begun. The calls run
/// within the task that awaits them; none is spawned.
///
/// ```no_run
/// # async fn example(client: pgw_client::GatewayClient) {
/// use pgw_client::gather_bounded;
///
/// let questions = ["Why is the sky blue?", "Why is grass green?", "Why is snow white?"];
/// let calls = questions.map(|question| client.chat(question));
/// let answers = gather_bounded(calls, 2)
///     .on_progress(|done, total| println!("{done} of {total}"))
///     .await;
/// for (question, answer) in questions.iter().zip(answers) {
///     match answer {
///         Ok(answer) => println!("{question} {}", answer.content),
///         Err(error) => println!("{question} {error}"),
///     }
/// }
/// # }
/// ```
pub fn gather_bounded<I, C, T>(calls: I, concurrency: usize) -> Gather<C>
where
    I: IntoIterator<Item = C>,
    C: IntoFuture<Output = Result<T, PgwError>>,
{
    let waiting = calls.into_iter().collect::<Vec<_>>().into_iter();
    Gather {
        results: waiting.as_slice().iter().map(|_| None).collect(),
        waiting,
        running: FuturesUnordered::new(),
        done: 0,
        concurrency: concurrency.max(1),
        progress: |_, _| {},
    }
}

/// The future of [`gather_bounded`]. Nothing is sent before its first poll.
#[must_use = "calls do nothing until they are awaited"]
pub struct Gather<C: IntoFuture, P = fn(usize, usize)> {
    waiting: vec::IntoIter<C>,
    running: FuturesUnordered<Part<C::IntoFuture>>,
    results: Vec<Option<C::Output>>,
    done: usize,
    concurrency: usize,
    progress: P,
}

impl<C: IntoFuture, P> Gather<C, P> {
    /// Calls `progress` whenever a call has ended, well or not, with the number of calls that have
    /// and the number of all. It runs between polls, so it must not block.
    pub fn on_progress<Q: FnMut(usize, usize)>(self, progress: Q) -> Gather<C, Q> {
        let Self { waiting, running, results, done, concurrency, .. } = self;
        Gather { waiting, running, results, done, concurrency, progress }
    }
}

/// No part of it is ever pinned in place: the running calls are boxed.
impl<C: IntoFuture, P> Unpin for Gather<C, P> {}

impl<C: IntoFuture, P: FnMut(usize, usize)> Future for Gather<C, P> {
    type Output = Vec<C::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            while this.running.len() < this.concurrency {
                let place = this.results.len() - this.waiting.len();
                let Some(call) = this.waiting.next() else { break };
                this.running.push(Part { place, call: Box::pin(call.into_future()) });
            }
            match ready!(this.running.poll_next_unpin(cx)) {
                Some((place, result)) => {
                    this.results[place] = Some(result);
                    this.done += 1;
                    (this.progress)(this.done, this.results.len());
                }
                None => return Poll::Ready(this.results.drain(..).flatten().collect()),
            }
        }
    }
}

impl<C: IntoFuture, P> fmt::Debug for Gather<C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather")
            .field("waiting", &self.waiting.len())
            .field("running", &self.running.len())
            .field("done", &self.done)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// One call under way, and where its result belongs.
struct Part<F> {
    place: usize,
    call: Pin<Box<F>>,
}

impl<F: Future> Future for Part<F> {
    type Output = (usize, F::Output);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let place = self.place;
        self.call.as_mut().poll(cx).map(|result| (place, result))
    }
}

#[cfg(test)]
mod tests;
