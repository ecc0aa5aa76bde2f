//! The ladder over doubles: what is read, what is asked again, and what it costs.

use std::time::Duration;

use pgw_ports::{Hand, StructuredOutput};
use pgw_types::{CallOptions, CallRecord, Content, FailureClass, Role, ScopeReason, UsageSource};
use serde_json::{Value, json};

use super::*;
use crate::doubles::{
    Bench, DropAfter, Script, Setup, Step, begin, consume, done, secs, text, usage,
};

/// Takes the word `good` for the value, and finds as many faults in anything else as it has letters.
#[derive(Debug)]
struct OneWord;

impl StructuredOutput for OneWord {
    fn read(&self, text: &str) -> Result<Value, Unreadable> {
        if text == "good" {
            return Ok(json!({"word": text}));
        }
        let fault = |letter: char| letter.to_string().repeat(300);
        let faults = text.chars().map(fault).collect();
        Err(Unreadable { validation_errors: faults, ..Unreadable::default() })
    }

    fn native_format(&self) -> Option<Value> {
        Some(json!({"type": "json_schema"}))
    }
}

fn bench() -> Bench {
    let mut bench = Setup::new(&["a"]).build();
    bench.layers.push(Arc::new(StructuredLayer));
    bench
}

fn asking(bench: &Bench, reasks: u32, hand: Hand) -> Arc<CallCx> {
    let cx = Arc::into_inner(bench.cx(hand, CallOptions::default())).unwrap();
    let output = Arc::new(OneWord);
    Arc::new(cx.with_structured(StructuredCall { output, reasks }))
}

fn request() -> ChatRequest {
    ChatRequest::new(vec![Message::system("Be brief."), Message::user("Say good.")])
}

async fn ask(bench: &Bench, reasks: u32) -> Result<LlmResponse, PgwError> {
    let cx = asking(bench, reasks, Hand::Whole);
    consume(bench.send(&cx, request()).await?).await
}

fn ending(words: &str, reason: FinishReason) -> Script {
    Script::steps([begin(), text(words), usage(10, 5), done(reason)])
}

/// MID-121, STR-013: without a form nothing touches the text, and the layer costs no call.
#[tokio::test(start_paused = true)]
async fn a_raw_call_passes_untouched() {
    let bench = bench();
    bench.upstream.script("a", [Script::answer("  ```bad```\n")]);
    let answer = bench.whole().await.unwrap();
    assert_eq!((&*answer.content, answer.structured_data), ("  ```bad```\n", None));
    assert_eq!(bench.upstream.made().len(), 1);
}

/// STR-008: the value stands beside the text.
#[tokio::test(start_paused = true)]
async fn a_right_answer_has_its_value() {
    let bench = bench();
    bench.upstream.script("a", [Script::answer("good")]);
    let answer = ask(&bench, 1).await.unwrap();
    assert_eq!(answer.content, "good");
    assert_eq!(answer.structured_data, Some(json!({"word": "good"})));
    assert_eq!((answer.prompt_tokens, bench.upstream.made().len()), (10, 1));
}

/// MID-120, MID-123, MID-124, MID-125, MID-126, MID-095: the second question is the first one, the
/// wrong answer, and the first three faults at 200 characters each, with the native format.
#[tokio::test(start_paused = true)]
async fn a_wrong_answer_is_asked_for_again_with_what_is_wrong() {
    let bench = bench();
    bench.upstream.script("a", [Script::answer("wröng"), Script::answer("good")]);
    let answer = ask(&bench, 1).await.unwrap();
    assert_eq!(answer.structured_data, Some(json!({"word": "good"})));
    let made = bench.upstream.made();
    assert_eq!(made.len(), 2);
    assert_eq!(made[0].request.messages, request().messages);
    assert_eq!(made[0].request.native_format, None);
    let second = &made[1].request;
    assert_eq!(second.native_format, Some(json!({"type": "json_schema"})));
    assert_eq!(second.messages[..2], request().messages[..]);
    assert_eq!(second.messages[2], Message::assistant("wröng"));
    assert_eq!((second.messages.len(), second.messages[3].role), (4, Role::User));
    let Some(Content::Text(told)) = &second.messages[3].content else { panic!("{second:?}") };
    let faults: Vec<_> = told.lines().filter(|line| line.starts_with("- ")).collect();
    let cut = |letter: &str| format!("- {}", letter.repeat(200));
    assert_eq!(faults, [cut("w"), cut("r"), cut("ö")]);
    assert!(told.starts_with("Your last answer could not be used."), "{told}");
    assert!(told.ends_with("no code fence."), "{told}");
}

/// MID-006, MID-065, MID-072, MID-074, MID-127: each question passes the gates and has its own
/// record; a wrong answer is the breaker's success.
#[tokio::test(start_paused = true)]
async fn a_second_question_is_governed_like_the_first() {
    let bench = bench();
    bench.upstream.script("a", [Script::answer("bad"), Script::answer("good")]);
    let answer = ask(&bench, 1).await.unwrap();
    assert_eq!(bench.limiter.count("try_acquire"), 2);
    assert_eq!(bench.breaker.count("record_success"), 2);
    let rows = bench.recorder.of(&answer.trace.request_id);
    assert_eq!(rows.len(), 2);
    let texts: Vec<_> = rows.iter().map(|row| (&*row.response, row.error.as_deref())).collect();
    assert_eq!(texts, [("bad", None), ("good", None)]);
    assert_ne!(rows[0].messages, rows[1].messages);
    bench.assert_idle("after both");
}

/// Usage and cost are those of all questions, and the trace tells of each.
#[tokio::test(start_paused = true)]
async fn usage_cost_and_trace_are_summed() {
    let bench = bench();
    let one = bench.whole().await.unwrap();
    let (wrong, right) = (Script::answer("bad"), Script::answer("good"));
    bench.upstream.script("a", [wrong.clone(), wrong, right]);
    let answer = ask(&bench, 2).await.unwrap();
    assert_eq!((answer.prompt_tokens, answer.completion_tokens), (30, 15));
    assert_eq!(answer.cost, one.cost.map(|cost| cost * 3.0));
    assert!(answer.cost.is_some_and(|cost| cost > 0.0));
    let attempts: Vec<_> = answer.trace.attempts.iter().map(|attempt| attempt.attempt).collect();
    assert_eq!(attempts, [0, 1, 2]);
    assert_eq!(&*answer.trace.scope, "test");
}

/// An estimate in any part makes an estimate of the sum.
#[tokio::test(start_paused = true)]
async fn an_estimated_part_makes_an_estimated_sum() {
    let bench = bench();
    let unreported = Script::steps([begin(), text("bad"), done(FinishReason::Stop)]);
    bench.upstream.script("a", [unreported, Script::answer("good")]);
    let answer = ask(&bench, 1).await.unwrap();
    assert_eq!(answer.usage_source, UsageSource::Estimated);
    assert!(answer.warnings.contains(&pgw_types::Warning::UsageEstimated));
}

/// MID-129, TYP-057, STR-006: at the end of the ladder the error has the text, the faults and the
/// trace. The class is a bad result, not a bad service.
#[tokio::test(start_paused = true)]
async fn at_the_end_of_the_ladder_everything_is_told() {
    let bench = bench();
    bench.upstream.otherwise(Script::answer("bad"));
    let error = ask(&bench, 2).await.unwrap_err();
    let call = error.call().unwrap();
    assert_eq!((call.class(), call.fault()), (FailureClass::ResultInvalid, Fault::InvalidResult));
    assert_eq!(call.partial().unwrap().content.as_deref(), Some("bad"));
    assert_eq!(call.unreadable().unwrap().validation_errors.len(), 3);
    assert!(call.message().contains("asked 3 times"), "{}", call.message());
    assert!(call.message().len() < 800, "{}", call.message());
    assert_eq!((call.scope(), call.source_name()), (Some("test"), Some("a")));
    assert_eq!(error.trace().unwrap().attempts.len(), 3);
    assert_eq!(bench.upstream.made().len(), 3);
    assert!(bench.breaker.is_closed("a"));
}

/// MID-122: no second question where none is wanted.
#[tokio::test(start_paused = true)]
async fn without_reasks_the_first_answer_decides() {
    let bench = bench();
    bench.upstream.otherwise(Script::answer("bad"));
    let error = ask(&bench, 0).await.unwrap_err();
    assert_eq!(error.class(), Some(FailureClass::ResultInvalid));
    assert_eq!(bench.upstream.made().len(), 1);
}

/// D67: what a limit or a filter cut would be cut again; nothing is asked twice, and the error says
/// which it was.
#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_not_asked_for_again() {
    for (reason, word) in
        [(FinishReason::Length, "max_tokens"), (FinishReason::ContentFilter, "content filter")]
    {
        let bench = bench();
        bench.upstream.otherwise(ending("bad", reason));
        let error = ask(&bench, 5).await.unwrap_err();
        let call = error.call().unwrap();
        assert!(call.message().contains(word), "{}", call.message());
        assert!(call.unreadable().unwrap().truncated);
        assert_eq!(bench.upstream.made().len(), 1);
    }
}

/// D67: prompts do not grow from question to question, and a monstrous answer is repeated in part.
#[tokio::test(start_paused = true)]
async fn prompts_do_not_grow_with_each_question() {
    let bench = bench();
    let monster = "é".repeat(ECHO_CHARS + 1);
    let bad = Script::answer("bad");
    bench
        .upstream
        .script("a", [bad.clone(), bad, Script::answer(&monster), Script::answer("good")]);
    ask(&bench, 3).await.unwrap();
    let made = bench.upstream.made();
    let lengths: Vec<_> = made.iter().map(|made| made.request.messages.len()).collect();
    assert_eq!(lengths, [2, 4, 4, 4]);
    assert_eq!(made[1].request.messages, made[2].request.messages);
    assert_eq!(made[3].request.messages[2], Message::assistant("é".repeat(ECHO_CHARS)));
}

/// MID-128: trying again for the service does not use up asking again for the form.
#[tokio::test(start_paused = true)]
async fn failures_of_the_service_are_counted_apart() {
    let bench = bench();
    let stumble = || Script::fault(Fault::ServerError);
    let scripts = [stumble(), Script::answer("bad"), stumble(), stumble(), Script::answer("good")];
    bench.upstream.script("a", scripts);
    let answer = ask(&bench, 1).await.unwrap();
    assert_eq!(answer.trace.attempts.len(), 5);
}

/// A failure of the second question is told as what it is, with the whole trace.
#[tokio::test(start_paused = true)]
async fn a_second_question_that_fails_tells_its_own_failure() {
    let bench = bench();
    bench.upstream.script("a", [Script::answer("bad")]);
    bench.upstream.otherwise(Script::fault(Fault::ServerError));
    let error = ask(&bench, 1).await.unwrap_err();
    assert_eq!(error.unavailable().unwrap().reason(), ScopeReason::RetryExhausted);
    assert_eq!(error.trace().unwrap().attempts.len(), 4);
}

/// Tool calls and refusals are answers too; there is no text to hold to a form.
#[tokio::test(start_paused = true)]
async fn tool_calls_and_refusals_pass() {
    use pgw_types::{ChatEvent, ToolDelta};

    let call = ChatEvent::ToolDelta(ToolDelta {
        id: Some("call-1".into()),
        name: Some("f".into()),
        arguments: "{}".into(),
        ..ToolDelta::default()
    });
    let refusal = ChatEvent::RefusalDelta { choice: 0, text: "No.".into() };
    for event in [call, refusal] {
        let bench = bench();
        let steps = [begin(), Step::Event(event), usage(10, 5), done(FinishReason::Stop)];
        bench.upstream.script("a", [Script::steps(steps)]);
        let answer = ask(&bench, 3).await.unwrap();
        assert_eq!(answer.structured_data, None);
        assert_eq!(bench.upstream.made().len(), 1);
    }
}

/// A form is read out of one answer; of several, the rest would pass unread.
#[tokio::test(start_paused = true)]
async fn several_answers_are_refused() {
    let bench = bench();
    let cx = asking(&bench, 1, Hand::Whole);
    let error = bench.send(&cx, ChatRequest { n: Some(2), ..request() }).await.unwrap_err();
    assert_eq!(error.call().unwrap().param(), Some("n"));
    assert_eq!(bench.upstream.made().len(), 0);
}

/// Nothing is handed out live before it has passed.
#[tokio::test(start_paused = true)]
async fn a_live_answer_is_held_back_until_it_has_passed() {
    let bench = bench();
    bench.upstream.script("a", [Script::answer("bad"), Script::answer("good")]);
    let cx = asking(&bench, 1, Hand::Live);
    match bench.send(&cx, request()).await.unwrap() {
        Reply::Whole(answer) => assert_eq!(answer.content, "good"),
        Reply::Live(_) => panic!("handed out unread"),
    }
}

/// MID-015, D21: dropped at any poll, between two questions as well, the call leaves nothing behind
/// and one record more than its finished attempts at most.
#[tokio::test(start_paused = true)]
async fn a_structured_call_dropped_at_any_poll_leaks_nothing() {
    for polls in 1.. {
        let bench = bench();
        bench.limiter.slow_down();
        bench.breaker.slow_down();
        bench.upstream.script(
            "a",
            [Script::answer("bad").after(secs(1)), Script::answer("good").after(secs(1))],
        );
        let cx = asking(&bench, 1, Hand::Whole);
        let finished = DropAfter::new(bench.send(&cx, request()), polls).await.is_some();
        tokio::time::sleep(Duration::from_secs(5)).await;
        bench.assert_idle(&format!("after {polls} polls"));
        let rows = bench.recorder.of(&cx.request_id);
        let cancelled = |row: &&CallRecord| row.error.as_deref() == Some(CallRecord::CANCELLED);
        assert_eq!(rows.iter().filter(cancelled).count(), usize::from(!finished));
        if finished {
            assert!(polls > 8, "the drops never reached the second question");
            return;
        }
    }
}
