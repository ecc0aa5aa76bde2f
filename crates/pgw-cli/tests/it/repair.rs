//! `pgw repair`: a text on standard input, the value on standard output, the rest in words and codes.

use std::{
    io::Write as _,
    process::{Command, Output, Stdio},
};

fn repair(options: &[&str], text: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pgw"))
        .arg("repair")
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

fn told(output: &Output) -> (i32, &str, &str) {
    (
        output.status.code().unwrap(),
        std::str::from_utf8(&output.stdout).unwrap(),
        std::str::from_utf8(&output.stderr).unwrap(),
    )
}

/// STR-001: valid JSON goes through as it is, without a word.
#[test]
fn valid_json_goes_through() {
    let output = repair(&[], b"  {\"b\": 1, \"a\": 12345678901234567890123}\n");
    assert_eq!(told(&output), (0, "{\"b\": 1, \"a\": 12345678901234567890123}\n", ""));
}

#[test]
fn damaged_json_is_mended_and_said_to_be() {
    let output = repair(&["--pretty"], "Sure:\n```json\n{a: 'x', b: [1, 2,]}\n```".as_bytes());
    let (code, value, words) = told(&output);
    assert_eq!((code, value), (0, "{\n  \"a\": \"x\",\n  \"b\": [\n    1,\n    2\n  ]\n}\n"));
    assert!(words.contains("mended"), "{words}");
}

#[test]
fn a_cut_value_is_its_beginning() {
    let cut = br#"{"a": "one", "b": "tw"#;
    let output = repair(&[], cut);
    let (code, value, words) = told(&output);
    assert_eq!((code, value), (0, "{\"a\":\"one\",\"b\":\"tw\"}\n"));
    assert!(words.contains("cut short"), "{words}");
    assert_eq!(told(&repair(&["--whole"], cut)).0, 1);
}

/// Bad input: what holds no value says why, and how much was read.
#[test]
fn what_holds_no_value_says_why() {
    for (text, code, words) in [
        (&b""[..], 1, "the text is empty (standard input, 0 bytes)"),
        (b"I can't do that.", 1, "the text holds no JSON value (standard input, 16 bytes)"),
        (b"<think>Let me see", 1, "thinking that never ended"),
        (b"{\"a\": \"\xff\"}", 2, "is no UTF-8 text (10 bytes)"),
    ] {
        let output = repair(&[], text);
        let (ended, value, told) = told(&output);
        assert_eq!((ended, value), (code, ""), "{told}");
        assert!(told.contains(words), "{told}");
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let output = repair(&[], deep.as_bytes());
    let (ended, _, told) = told(&output);
    assert!(ended == 1 && told.contains("deeper than 127 levels"), "{told}");
}
