//! Tests of what is recorded: each attempt once, and each call that made none.

use std::{fs, path::Path, time::Duration};

use pgw_ports::Hand;
use pgw_types::{
    CallOptions, CallRecord, ChatRequest, Fault, FinishReason, LlmResponse, Message, Part, Role,
    UsageSource,
};

use super::*;
use crate::{
    Chat,
    doubles::{Bench, Script, Setup, Step, begin, consume, done, secs, text, thought},
};

fn caller() -> CallOptions {
    CallOptions {
        session_id: Some("session".into()),
        parent_call_id: Some("parent".into()),
        ..CallOptions::default()
    }
}

/// Sends a call and walks away from it after a while.
async fn walk_away(bench: &Bench, after: Duration) {
    tokio::select! {
        biased;
        result = bench.whole_with(caller()) => panic!("it ended: {result:?}"),
        () = tokio::time::sleep(after) => {}
    }
}

/// MID-100, MID-011: one row per attempt, with all that is known of it, and none beside.
#[tokio::test(start_paused = true)]
async fn each_attempt_has_one_row() {
    let bench = Setup::new(&["a", "b", "c"]).build();
    bench.upstream.script("a", [Script::fault(Fault::InvalidKey)]);
    bench.upstream.script("b", [Script::fault(Fault::ServerError)]);
    bench.whole().await.unwrap();
    let rows = bench.recorder.all();
    let told: Vec<_> =
        rows.iter().map(|row| (row.attempt, &*row.source_name, row.error.as_deref())).collect();
    assert_eq!(
        told,
        [
            (Some(0), "a", Some("source_dead/invalid_key: invalid_key")),
            (Some(1), "b", Some("transient/server_error: server_error")),
            (Some(2), "c", None),
        ]
    );
    let good = &rows[2];
    assert_eq!((good.prompt_tokens, good.completion_tokens, good.cost), (10, 5, Some(15.0)));
    assert_eq!(good.usage_source, UsageSource::Measured);
    assert_eq!((&*good.response, &*good.model), ("ok", "model"));
    assert_eq!((&*good.scope, &*good.operation), ("test", "chat"));
    assert_eq!(
        (rows[0].prompt_tokens, rows[0].cost),
        (0, None),
        "an error text is never counted as output"
    );
    assert!(rows.iter().all(|row| row.request_id == "call-0"));
}

/// MID-106, MID-100: used-up attempts have their rows and no terminal one beside them.
#[tokio::test(start_paused = true)]
async fn no_terminal_row_beside_attempts() {
    let bench = Setup::new(&["a"]).build();
    bench.upstream.otherwise(Script::fault(Fault::ServerError));
    bench.whole().await.unwrap_err();
    assert_eq!(bench.recorder.all().len(), 3);
}

/// MID-106: a call that ends without an attempt leaves one terminal row that says why.
#[tokio::test(start_paused = true)]
async fn a_refused_call_leaves_one_terminal_row() {
    let full = Setup::new(&["a"]).fail_fast().build();
    full.limiter.cap(0);
    let nowhere = Setup::new(&[]).build();
    let unknown = Setup::new(&["a"]).build();
    unknown.limiter.forget("a");
    for (bench, why) in [
        (full, "unavailable/quota_exhausted: "),
        (nowhere, "unavailable/no_sources: "),
        (unknown, "config: "),
    ] {
        bench.whole_with(caller()).await.unwrap_err();
        let rows = bench.recorder.all();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert!(row.error.as_ref().unwrap().starts_with(why), "{row:?}");
        assert_eq!((row.attempt, &*row.source_name), (None, ""));
        assert_eq!((row.prompt_tokens, row.cost), (0, None));
        assert_eq!(row.session_id.as_deref(), Some("session"));
        assert_eq!(row.parent_call_id.as_deref(), Some("parent"));
    }
}

/// MID-103: a call dropped in the line leaves one cancelled row; one dropped within an attempt
/// leaves that attempt's, with what had come; one dropped in its backoff leaves one beside the rows of
/// the attempts that failed.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_a_cancelled_row() {
    let waiting = Setup::new(&["a"]).build();
    waiting.limiter.cap(0);
    walk_away(&waiting, secs(3)).await;
    let rows = waiting.recorder.all();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].error.as_deref(), Some(CallRecord::CANCELLED));
    assert_eq!((rows[0].attempt, rows[0].latency_ms), (None, 3_000));

    let reading = Setup::new(&["a"]).build();
    let half = [begin(), thought("hm"), text("half"), Step::Never];
    reading.upstream.script("a", [Script::steps(half)]);
    walk_away(&reading, secs(3)).await;
    let rows = reading.recorder.all();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].error.as_deref(), Some(CallRecord::CANCELLED));
    assert_eq!((&*rows[0].response, &*rows[0].thinking), ("half", "hm"));
    assert_eq!((rows[0].attempt, rows[0].latency_ms), (Some(0), 3_000));

    let backing_off = Setup::new(&["a"]).build();
    let failing = Script::fault(Fault::ServerError);
    backing_off.upstream.script("a", [failing]);
    walk_away(&backing_off, Duration::from_millis(500)).await;
    let errors = backing_off.recorder.errors();
    let failed = Some("transient/server_error: server_error".into());
    assert_eq!(errors, [failed, Some(CallRecord::CANCELLED.into())]);
    assert_eq!(backing_off.recorder.all()[1].attempt, None);
}

/// MID-105: the caller's ids stand on every row: attempts, terminal and cancelled ones.
#[tokio::test(start_paused = true)]
async fn the_callers_ids_stand_on_every_row() {
    let bench = Setup::new(&["a", "b"]).build();
    let failing = Script::fault(Fault::ServerError);
    bench.upstream.script("a", [failing, Script::silent()]);
    bench.upstream.script("b", [Script::silent()]);
    walk_away(&bench, secs(3)).await;
    bench.limiter.cap(0);
    walk_away(&bench, secs(3)).await;
    bench.whole_with(caller()).await.unwrap_err();
    let rows = bench.recorder.all();
    assert_eq!(rows.len(), 4, "failed, cancelled, cancelled in line, refused");
    for row in &rows {
        assert_eq!(row.session_id.as_deref(), Some("session"), "{row:?}");
        assert_eq!(row.parent_call_id.as_deref(), Some("parent"), "{row:?}");
        assert!(!row.request_id.is_empty() && !row.call_id.is_empty());
        assert_eq!(&*row.model, "model");
    }
    let mut ids: Vec<_> = rows.iter().map(|row| &row.call_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "each row has an id of its own");
}

/// MID-102, MID-104: a store that never confirms holds a call up for the receipt limit once, and
/// then for half a minute not at all; a drop is never held up.
#[tokio::test(start_paused = true)]
async fn a_deaf_store_holds_nobody_up_for_long() {
    let bench = Setup::new(&["a"]).build();
    bench.recorder.set_deaf(true);
    bench.whole().await.unwrap();
    assert_eq!(bench.elapsed(), 2_000);
    bench.whole().await.unwrap();
    assert_eq!(bench.elapsed(), 2_000, "it is known to be deaf");
    tokio::time::sleep(secs(30)).await;
    bench.whole().await.unwrap();
    assert_eq!(bench.elapsed(), 34_000, "asked again after a while");

    bench.upstream.script("a", [Script::silent()]);
    walk_away(&bench, secs(1)).await;
    assert_eq!(bench.elapsed(), 35_000, "the drop took no time");
    let last = bench.recorder.errors().pop().unwrap();
    assert_eq!(last.as_deref(), Some(CallRecord::CANCELLED));
}

/// MID-104: several attempts do not add up their waits for a deaf store.
#[tokio::test(start_paused = true)]
async fn a_deaf_store_is_waited_for_once_a_call() {
    let bench = Setup::new(&["a"]).build();
    bench.recorder.set_deaf(true);
    let failing = Script::fault(Fault::ServerError);
    bench.upstream.script("a", [failing.clone(), failing]);
    bench.whole().await.unwrap();
    assert_eq!(bench.elapsed(), 2_000 + 1_000 + 2_000, "receipt, backoffs");
    assert_eq!(bench.recorder.all().len(), 3);
}

/// MID-107: binary parts are written down as digests, the same on every row of the call.
#[tokio::test(start_paused = true)]
async fn binary_parts_are_digested() {
    let bench = Setup::new(&["a"]).build();
    bench.upstream.script("a", [Script::fault(Fault::ServerError)]);
    let image = Part::image_url("data:image/png;base64,aGVsbG8gd29ybGQ=");
    let message = Message::parts(Role::User, vec![image, Part::text("what is it?")]);
    let cx = bench.cx(Hand::Whole, CallOptions::default());
    let reply = bench.send(&cx, ChatRequest::new(vec![message])).await;
    consume(reply.unwrap()).await.unwrap();
    let rows = bench.recorder.all();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].messages, rows[1].messages);
    assert!(!rows[0].messages.contains("aGVsbG8"), "{}", rows[0].messages);
    assert!(rows[0].messages.contains("what is it?"));
}

/// A layer that answers by itself, as a cache does on a hit.
#[derive(Debug)]
struct Hit;

#[async_trait]
impl Middleware<Chat> for Hit {
    fn name(&self) -> &'static str {
        "hit"
    }

    async fn handle(
        &self,
        _: &Arc<CallCx>,
        _: Arc<ChatRequest>,
        _: Next<'_, Chat>,
    ) -> Result<Reply<Chat>, PgwError> {
        Ok(Reply::Whole(Box::new(LlmResponse { cache_hit: true, ..LlmResponse::default() })))
    }
}

/// MID-005, MID-008, MID-108: a layer that answers by itself touches nothing within, and this layer
/// writes no row for it: a hit is the answering layer's to record.
#[tokio::test(start_paused = true)]
async fn an_answer_from_outside_touches_no_gate() {
    let mut bench = Setup::new(&["a"]).build();
    bench.breaker.open_for("a", secs(60));
    bench.layers.push(Arc::new(Hit));
    assert!(bench.whole().await.unwrap().cache_hit);
    assert_eq!(bench.limiter.count("try_acquire"), 0);
    assert_eq!(bench.breaker.count("try_enter"), 0);
    assert_eq!(bench.recorder.all().len(), 0);
}

/// MID-100: what an attempt ends in decides its row: a complete answer of no use is booked.
#[tokio::test(start_paused = true)]
async fn a_useless_answer_is_booked() {
    let bench = Setup::new(&["a"]).build();
    let steps = [begin(), thought("hmmm"), done(FinishReason::Length)];
    bench.upstream.script("a", [Script::steps(steps)]);
    bench.whole().await.unwrap_err();
    let row = &bench.recorder.all()[0];
    assert!(row.error.as_ref().unwrap().starts_with("result_invalid/thinking_only"), "{row:?}");
    assert_eq!(row.thinking, "hmmm");
    assert_eq!(row.usage_source, UsageSource::Estimated);
    assert!(row.prompt_tokens > 0 && row.completion_tokens > 0);
}

/// MID-101: the recorder is called in one place of this crate.
#[test]
fn records_are_written_in_one_place() {
    fn count(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                count(&path, found);
            } else if !path.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let calls = text.matches(concat!("recorder", ".offer(")).count();
                found.extend((0..calls).map(|_| path.display().to_string()));
            }
        }
    }
    let mut found = Vec::new();
    count(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("ledger.rs"));
}
