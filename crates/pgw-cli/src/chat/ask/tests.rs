//! From arguments to a request, with doubles of standard input.

use clap::Parser as _;

use super::*;
use crate::args::{Args, Command};

struct Typed;

impl Input for Typed {
    fn is_terminal(&self) -> bool {
        true
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        panic!("nobody is asked to type")
    }
}

struct Piped(&'static [u8]);

impl Input for Piped {
    fn is_terminal(&self) -> bool {
        false
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        Ok(self.0.to_vec())
    }
}

fn asked(args: &[&str], stdin: &impl Input) -> Result<ChatRequest, Unasked> {
    let args = Args::try_parse_from(["pgw", "chat"].iter().chain(args)).unwrap();
    let Command::Chat(chat) = args.command else { panic!("not chat") };
    request(&chat, stdin)
}

#[test]
fn the_prompt_wins_over_what_is_piped_in() {
    let request = asked(&["--system", "Be brief.", "Why?"], &Piped(b"something else")).unwrap();
    assert_eq!(request.messages, [Message::system("Be brief."), Message::user("Why?")]);
}

#[test]
fn the_last_line_end_of_a_piped_prompt_is_the_shells() {
    for args in [&[][..], &["-"]] {
        let request = asked(args, &Piped(b"Why?\nAnd how?\r\n")).unwrap();
        assert_eq!(request.messages, [Message::user("Why?\nAnd how?")]);
    }
}

#[test]
fn nothing_to_ask_is_wrong_usage() {
    assert!(matches!(asked(&[], &Typed), Err(Unasked::Usage(_))));
    assert!(matches!(asked(&[], &Piped(b"\n")), Err(Unasked::Usage(_))));
    assert!(matches!(asked(&[], &Piped(b"\xff")), Err(Unasked::Usage(_))));
    assert!(matches!(
        asked(&["--request", "no/such/file"], &Typed),
        Err(Unasked::Usage(text)) if text.contains("no/such/file")
    ));
}

#[test]
fn options_override_the_body() {
    let body = br#"{"model": "a", "max_completion_tokens": 5, "temperature": 1.0, "stream": true,
                    "messages": [{"role": "user", "content": "Why?"}]}"#;
    let args = ["--request", "-", "--model", "b", "--max-tokens", "9", "--thinking", "on"];
    let request = asked(&args, &Piped(body)).unwrap();
    assert_eq!(request.model.as_deref(), Some("b"));
    assert_eq!((request.max_tokens, request.max_completion_tokens), (None, Some(9)));
    assert_eq!(request.temperature, Some(1.0));
    assert_eq!(request.thinking, Some(Thinking::On { budget: None }));
}

/// TYP-020 and following: every fault of a body is named.
#[test]
fn a_body_at_fault_names_its_fields() {
    let fields = |stdin: &Piped| match asked(&["--request", "-"], stdin) {
        Err(Unasked::Body(faults)) => faults.into_iter().map(|fault| fault.field).collect(),
        other => panic!("{other:?}"),
    };
    let names: Vec<String> = fields(&Piped(br#"{"messages": [], "modle": "x"}"#));
    assert_eq!(names, ["messages", "modle"]);
    let names: Vec<String> = fields(&Piped(b"{"));
    assert_eq!(names, ["(body)"]);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let body = b"\xef\xbb\xbf{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}";
    assert!(asked(&["--request", "-"], &Piped(body)).is_ok());
}
