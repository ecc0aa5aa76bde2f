//! Tests of the framing: the standard's cases, the services' cases, any split.

use proptest::prelude::*;

use super::*;

fn decode(pieces: &[&[u8]]) -> Vec<String> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    let mut show = |event: SseEvent| {
        let data: Vec<_> = event.lines().map(|line| String::from_utf8_lossy(line)).collect();
        let mut text = data.join("|");
        if let Some(name) = event.name {
            text = format!("{}={text}", String::from_utf8_lossy(&name));
        }
        if let Some(error) = event.error {
            text = format!("{text}!{}", String::from_utf8_lossy(&error));
        }
        events.push(text);
    };
    for piece in pieces {
        decoder.feed(Bytes::copy_from_slice(piece));
        while let Some(event) = decoder.next_event().unwrap() {
            show(event);
        }
    }
    while let Some(event) = decoder.finish().unwrap() {
        show(event);
    }
    events
}

/// OAI-004, D11, GWY-069.
#[test]
fn the_standard_and_its_liberties() {
    for (body, events) in [
        ("data: a\n\ndata: b\n\n", &["a", "b"][..]),
        ("data:a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
        ("data: a\r\rdata: b\r\r", &["a", "b"]),
        ("\u{feff}data: a\n\n", &["a"]),
        ("data:  a\n\n", &[" a"]),
        ("data: a\ndata: b\n\n", &["a|b"]),
        (": ping\n\n: pong\n\ndata: a\n\n", &["a"]),
        ("event: error\ndata: a\n\n", &["error=a"]),
        ("event:error\nid: 1\nretry: 3\ndata:a\n\n", &["error=a"]),
        ("id: 1\n\nretry: 3000\n\nevent: ping\n\n", &[]),
        ("data\n\ndata:\n\n", &["", ""]),
        ("error: {\"code\":400}\n\n", &["!{\"code\":400}"]),
        ("data: a\n", &["a"]),
        ("data: a", &["a"]),
        ("data: a\n\ndata: b", &["a", "b"]),
        ("data: {1}\ndata: {2}\ndata: [DONE]\n", &["{1}", "{2}", "[DONE]"]),
        ("data: {1}\nevent: error\ndata: {2}\n\n", &["{1}", "error={2}"]),
        ("data: {1}\nevent: late\n\n", &["late={1}"]),
        ("data: {cut\ndata: {2}\n\n", &["{cut|{2}"]),
        ("data: {\ndata: }\n\n", &["{|}"]),
        ("\n\n\n", &[]),
        ("", &[]),
    ] {
        assert_eq!(decode(&[body.as_bytes()]), events, "{body:?}");
        let bytes: Vec<_> = body.as_bytes().chunks(1).collect();
        assert_eq!(decode(&bytes), events, "byte by byte: {body:?}");
    }
}

#[test]
fn a_line_over_the_limit_is_said_so_and_not_kept() {
    let mut decoder = SseDecoder::with_limit(10);
    decoder.feed(Bytes::from_static(b"data: 0123456789"));
    assert_eq!(decoder.next_event(), Err(TooLong { limit: 10 }));
    assert_eq!(TooLong { limit: 10 }.to_string(), "line too long: more than 10 bytes in one event");
    decoder.feed(Bytes::from_static(b"data: a\n\n"));
    assert_eq!(decoder.next_event(), Ok(None));
}

#[test]
fn many_small_lines_of_one_event_count_together() {
    let mut decoder = SseDecoder::with_limit(20);
    decoder.feed(Bytes::from_static(b"data: 1234\ndata: 1234\ndata: 1234\n\n"));
    assert_eq!(decoder.next_event(), Err(TooLong { limit: 20 }));
}

/// Heartbeats are no part of an event, however many there are.
#[test]
fn comments_without_blank_lines_do_not_add_up() {
    let mut decoder = SseDecoder::with_limit(20);
    for _ in 0..100 {
        decoder.feed(Bytes::from_static(b": keep-alive\n"));
        assert_eq!(decoder.next_event(), Ok(None));
    }
    decoder.feed(Bytes::from_static(b"data: a\n\n"));
    assert!(decoder.next_event().unwrap().is_some());
}

proptest! {
    /// GWY-063: any split gives the same events, and no bytes make the decoder panic.
    #[test]
    fn any_split_gives_the_same_events(
        body in prop::collection::vec(
            prop::sample::select(&b"data: event:error\r\n\n\r\n:x \xef\xbb\xbf\xe4\xbd\xa0{}"[..]),
            0..200,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let whole = decode(&[&body]);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&body[from..cut]);
            from = cut;
        }
        pieces.push(&body[from..]);
        prop_assert_eq!(decode(&pieces), whole);
    }
}
