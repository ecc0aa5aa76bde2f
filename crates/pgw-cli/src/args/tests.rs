//! The command line as clap sees it.

use clap::CommandFactory as _;

use super::*;

fn chat(args: &[&str]) -> Result<ChatArgs, clap::Error> {
    let args = Args::try_parse_from(["pgw", "chat"].iter().chain(args))?;
    match args.command {
        Command::Chat(chat) => Ok(chat),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_definition_is_sound_and_each_command_has_help() {
    Args::command().debug_assert();
    let help = Args::command().render_long_help().to_string();
    for word in ["chat", "check", "mock", "demo", "130", "pgw check", "LLM__GENERIC__1__API_KEY"] {
        assert!(help.contains(word), "{word} is not in:\n{help}");
    }
}

#[test]
fn a_request_file_stands_alone() {
    assert!(chat(&["--request", "-"]).is_ok());
    assert!(chat(&["--request", "-", "--model", "m"]).is_ok());
    assert!(chat(&["--request", "-", "Hello"]).is_err());
    assert!(chat(&["--request", "-", "--system", "s"]).is_err());
}

#[test]
fn numbers_that_mean_nothing_are_refused() {
    assert_eq!(
        chat(&["--deadline", "2.5", "x"]).unwrap().deadline,
        Some(Duration::from_millis(2_500))
    );
    for wrong in ["0", "-1", "NaN", "soon", "inf"] {
        assert!(chat(&["--deadline", wrong, "x"]).is_err(), "{wrong}");
    }
    assert!(chat(&["--temperature", "NaN", "x"]).is_err());
    assert!(chat(&["--max-tokens", "0", "x"]).is_err());
    assert!(chat(&["--thinking", "maybe", "x"]).is_err());
    assert_eq!(chat(&["--thinking", "off", "x"]).unwrap().thinking, Some(Switch::Off));
}

#[test]
fn a_lone_dash_is_a_prompt_from_standard_input() {
    assert_eq!(chat(&["-"]).unwrap().prompt.as_deref(), Some("-"));
    assert_eq!(chat(&[]).unwrap().prompt, None);
    assert_eq!(chat(&[]).unwrap().scope, "LLM");
}
