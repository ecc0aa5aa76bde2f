//! GWY-121: bodies that break off, sockets that stay silent, and clients that leave.

use std::io::ErrorKind;
use std::time::Duration;

use pgw_mock::{Answer, ChatReply, Endpoint, Fault, Framing, MockServer, Scenario, Step};
use serde_json::json;

use crate::client::{CHAT, Client, within};

async fn chat(answer: Answer) -> MockServer {
    let endpoint = Endpoint::chat().answer(answer);
    MockServer::start(Scenario::new().endpoint(endpoint)).await.unwrap()
}

/// The one endpoint's (answered, cut short, closed by client, in progress).
fn ends(mock: &MockServer) -> (u64, u64, u64, u64) {
    let counters = mock.counters();
    let chat = counters.endpoint("chat").unwrap();
    (chat.answered, chat.cut_short, chat.closed_by_client, chat.in_progress)
}

#[tokio::test]
async fn cut_closes_cleanly_without_the_terminator() {
    let mock = chat(Answer::sse([Step::event(&json!(1)), Step::Cut, Step::done()])).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    let (bytes, error) = client.until_broken().await;
    assert_eq!(error, None, "a clean end, no reset");
    assert!(bytes.ends_with(b"\r\n\r\n9\r\ndata: 1\n\n\r\n"));
    assert_eq!(ends(&mock), (0, 1, 0, 0));
}

#[tokio::test]
async fn cut_under_a_content_length_leaves_the_promise_open() {
    let steps = [Step::data("12345"), Step::Cut, Step::data("67890")];
    let mock = chat(Answer::chunks(steps).framing(Framing::ContentLength)).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    let bytes = String::from_utf8(client.rest().await.unwrap()).unwrap();
    assert!(bytes.contains("content-length: 10\r\n"));
    assert!(bytes.ends_with("\r\n\r\n12345"));
}

#[tokio::test]
async fn reset_breaks_the_connection_after_the_bytes_before_it() {
    let mock = chat(Answer::sse([Step::event(&json!(1)), Step::Reset])).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    let (bytes, error) = client.until_broken().await;
    assert_eq!(error, Some(ErrorKind::ConnectionReset));
    assert!(bytes.ends_with(b"data: 1\n\n\r\n"));
    assert_eq!(ends(&mock), (0, 1, 0, 0));
}

#[tokio::test]
async fn reset_alone_sends_no_byte() {
    let mock = chat(Answer::raw_steps([Step::Reset])).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    assert_eq!(client.until_broken().await, (Vec::new(), Some(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn stall_is_silent_until_the_client_leaves() {
    let mock = chat(Answer::sse([Step::event(&json!(1)), Step::Stall, Step::done()])).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    client.head().await;
    assert_eq!(client.chunk().await.unwrap(), b"data: 1\n\n");
    assert_eq!(ends(&mock), (0, 0, 0, 1));
    assert_eq!(mock.counters().open_connections, 1);

    drop(client);
    within(mock.wait_until(|counters| counters.closed_by_client() == 1)).await;
    assert_eq!(ends(&mock), (0, 0, 1, 0));
    assert_eq!(mock.closed_by_client(), 1);
    within(mock.wait_until(|counters| counters.open_connections == 0)).await;
}

#[tokio::test]
async fn client_that_leaves_during_the_delay_is_noticed() {
    let hour = Duration::from_hours(1);
    let mock = chat(Answer::text(200, "late").delay(hour)).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    within(mock.wait_until(|counters| counters.in_progress() == 1)).await;
    drop(client);
    within(mock.wait_until(|counters| counters.closed_by_client() == 1)).await;
}

#[tokio::test]
async fn pause_comes_after_all_bytes_before_it_are_out() {
    let hour = Step::Pause(Duration::from_hours(1));
    let mock = chat(Answer::sse([Step::data("first"), hour, Step::data("never")])).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    client.head().await;
    assert_eq!(client.chunk().await.unwrap(), b"first");
    drop(client);
    within(mock.wait_until(|counters| counters.closed_by_client() == 1)).await;
}

#[tokio::test]
async fn client_that_leaves_a_large_answer_unread_takes_answered_back() {
    // Far more than both socket buffers hold, in one write.
    let mock = chat(Answer::bytes(200, vec![b'x'; 64 * 1024 * 1024])).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    client.head().await;
    drop(client);
    within(mock.wait_until(|counters| counters.closed_by_client() == 1)).await;
    assert_eq!(ends(&mock), (0, 0, 1, 0));
}

#[tokio::test]
async fn short_delay_and_pause_only_delay() {
    let answer = Answer::sse([Step::data("a"), Step::pause_ms(1), Step::data("b")]);
    let mock = chat(answer.delay(Duration::from_millis(1))).await;
    let answer = Client::connect(&mock).await.post(CHAT, "{}").await;
    assert_eq!(answer.text(), "ab");
    assert_eq!(ends(&mock), (1, 0, 0, 0));
}

#[tokio::test]
async fn chat_reply_breaks_after_its_deltas() {
    let mock = chat(Answer::chat(ChatReply::new("one two three").breaks(2, Fault::Cut))).await;
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", r#"{"stream":true}"#).await;
    let (bytes, error) = client.until_broken().await;
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(error, None);
    assert!(text.contains(r#""content":"two ""#) && !text.contains("three"));
    assert!(!text.contains("[DONE]"));

    // The same reply as JSON promises its whole length and stops in the middle.
    let mut client = Client::connect(&mock).await;
    client.send_post(CHAT, "", "{}").await;
    let head = client.head().await;
    let promised = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let sent = client.rest().await.unwrap();
    assert_eq!(sent.len(), promised.parse::<usize>().unwrap() / 2);
    assert_eq!(ends(&mock), (0, 2, 0, 0));
}

#[tokio::test]
async fn chat_reply_with_pauses_sends_all_chunks() {
    let mock = chat(Answer::chat(ChatReply::new("one two").pause_ms(1))).await;
    let answer = Client::connect(&mock).await.post(CHAT, r#"{"stream":true}"#).await;
    assert_eq!(answer.events().len(), 4);
}
