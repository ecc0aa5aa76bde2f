//! What comes back: streams, documents, and things that are neither.

use std::io::Write as _;

use pgw_mock::{Answer, Framing, Step};
use pgw_types::{ChatEvent, Fault, UsageReport, Warning};

use crate::bench::{Bench, content, document, failure, good, hello_steps, parts, stop, text};

fn sse_text() -> String {
    format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", text("hello"), stop())
}

/// OAI-004: events in their order; the service's request id is in the first.
#[tokio::test]
async fn a_stream_yields_start_deltas_usage_and_finish() {
    let usage = serde_json::json!({"id": "c1", "choices": [],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1}});
    let [said, stopped] = hello_steps();
    let answer = Answer::sse([said, stopped, Step::event(&usage), Step::done()]);
    let bench = Bench::new([answer.header("x-request-id", "req-7")]).await;
    let (events, error) = bench.stream().await;
    assert!(error.is_none(), "{error:?}");
    let ChatEvent::MessageStart { id, model, request_id } = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!((id.as_str(), model.as_str(), request_id.as_deref()), ("c1", "m", Some("req-7")));
    assert_eq!(events[1], ChatEvent::ContentDelta { choice: 0, text: "hello".into() });
    let report = UsageReport {
        prompt_tokens: Some(3),
        completion_tokens: Some(1),
        ..UsageReport::default()
    };
    assert_eq!(events[2], ChatEvent::Usage(report));
    assert!(matches!(events[3], ChatEvent::Finish(_)));
    assert_eq!(events.len(), 4);
}

/// OAI-008, OAI-032: the plain path is one document, and needs no stream.
#[tokio::test]
async fn a_plain_answer_is_one_document() {
    let bench = Bench::new([Answer::json(200, &document())]).await;
    let (said, finish, error) = parts(bench.plain().await);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(said, "hello");
    assert_eq!(finish.unwrap().warnings, []);
    assert_eq!(bench.mock.requests()[0].header("accept"), Some("application/json"));
}

/// Content types are not gone by (exo-explore/exo#175, `sfortis/openai_tts`#73).
#[tokio::test]
async fn what_comes_is_judged_by_its_bytes() {
    let json =
        |media: &str| Answer::bytes(200, document().to_string()).header("content-type", media);
    let stream = |media: &str| Answer::bytes(200, sse_text()).header("content-type", media);
    let bench = Bench::new([
        json("text/event-stream"),
        json("text/plain"),
        stream("application/json"),
        stream("text/plain"),
        Answer::bytes(200, format!("\n\n\n{}", document())),
    ])
    .await;
    for warned in [true, true, false, false, true] {
        let (said, finish, error) = parts(bench.stream().await);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(said, "hello");
        let warning = finish.unwrap().warnings.contains(&Warning::JsonInsteadOfStream);
        assert_eq!(warning, warned);
    }
    // The other way round there is nothing to warn of.
    let bench = Bench::new([stream("application/json")]).await;
    assert_eq!(content(bench.plain().await), "hello");
}

/// sigoden/aichat#349, NEKOparapa/AiNiee#151: what is no answer is named and shown.
#[tokio::test]
async fn pages_and_texts_are_no_answers() {
    for (body, fault, shown) in [
        ("<html><title>Log in</title></html>", Fault::BadEndpoint, "check the base URL: <html>"),
        ("\"suspended\"", Fault::BadResponse, "\"suspended\""),
        ("upstream gone", Fault::BadResponse, "upstream gone"),
        ("", Fault::EmptyResponse, "no body"),
        (" \n\n ", Fault::EmptyResponse, "no body"),
        ("{\"choices\":[]}", Fault::EmptyResponse, "no choices"),
        ("{\"choices\":[{\"mess", Fault::Truncated, "breaks off"),
        ("{\"choices\":]}", Fault::BadResponse, "{\"choices\":]}"),
    ] {
        let bench = Bench::new([Answer::text(200, body)]).await;
        for error in [failure(bench.stream().await), failure(bench.plain().await)] {
            assert_eq!(error.fault(), fault, "{body}: {error}");
            assert!(error.message().contains(shown), "{body}: {error}");
        }
    }
}

/// A document a line, as some relays stream; the last line may be cut.
#[tokio::test]
async fn json_lines_are_a_stream() {
    let whole = format!("{}\n{}\n", text("hello"), stop());
    let bench = Bench::new([
        Answer::text(200, whole.clone()),
        Answer::text(200, format!("{whole}[DONE]\n")),
        Answer::text(200, format!("{}\n", text("hello")).repeat(2)),
        Answer::text(200, &whole[..whole.len() - 9]),
    ])
    .await;
    assert_eq!(content(bench.stream().await), "hello");
    assert_eq!(content(bench.stream().await), "hello");
    for said in ["hellohello", "hello"] {
        let (partial, _, error) = parts(bench.stream().await);
        assert_eq!((partial.as_str(), error.unwrap().fault()), (said, Fault::Truncated));
    }
}

/// D01, D07, D13: comments, blank events and pings are skipped without a trace.
#[tokio::test]
async fn keep_alives_yield_nothing() {
    let noise = || Step::data(": PING\n\ndata:\n\nretry: 3000\n\nid: 1\n\nevent: ping\n\n\n");
    let [said, stopped] = hello_steps();
    let steps = [noise(), noise(), said, noise(), noise(), stopped, noise(), Step::done()];
    let (events, error) = Bench::new([Answer::sse(steps)]).await.stream().await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events.len(), 3, "{events:?}");
}

/// mattrobinsonsre/terrapod#71: compressed although we asked for identity.
#[tokio::test]
async fn a_compressed_stream_is_decoded() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(sse_text().as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    let halves = zipped.split_at(zipped.len() / 2);
    let steps = [Step::data(halves.0.to_vec()), Step::data(halves.1.to_vec())];
    let bench = Bench::new([Answer::sse(steps).header("content-encoding", "gzip")]).await;
    assert_eq!(content(bench.stream().await), "hello");
}

/// One answer can't fill the memory.
#[tokio::test]
async fn answers_have_a_limit() {
    let piece = || Step::data(vec![b' '; 8 << 20]);
    let plain = std::iter::once(Step::data("{")).chain((0..9).map(|_| piece()));
    let line = std::iter::once(Step::data("data: {")).chain((0..5).map(|_| piece()));
    let bench = Bench::new([Answer::chunks(plain), Answer::sse(line)]).await;
    let error = failure(bench.plain().await);
    assert_eq!(error.fault(), Fault::BadResponse);
    assert!(error.message().contains("larger than 67108864 bytes"), "{error}");
    let error = failure(bench.stream().await);
    assert_eq!(error.fault(), Fault::BadResponse);
    assert!(error.message().starts_with("line too long"), "{error}");
}

/// OAI-027: an answer that is good is good however its end is framed.
#[tokio::test]
async fn every_framing_will_do() {
    for framing in [Framing::Chunked, Framing::ContentLength, Framing::UntilClose] {
        let bench = Bench::new([good().framing(framing)]).await;
        assert_eq!(content(bench.stream().await), "hello");
    }
}
