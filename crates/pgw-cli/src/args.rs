//! The command line: what may be written, and the help a person learns it from.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args as Group, Parser, Subcommand, ValueEnum};

use crate::exit::Exit;

/// Governed calls of language models: one call, one answer or one honest error, and a trace
#[derive(Debug, Parser)]
#[command(
    name = "pgw",
    version,
    arg_required_else_help = true,
    long_about = ABOUT,
    after_help = Exit::HELP
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const ABOUT: &str = "\
Governed calls of language models: one call, one answer or one honest error, and a trace.

Sources (accounts at services) are named in .env or in the environment. Three lines are enough:

  LLM__GENERIC__1__BASE_URL=https://api.example.com/v1
  LLM__GENERIC__1__API_KEY=…
  LLM__GENERIC__1__MODEL=some-model

Start with `pgw demo`, which needs none of it; then `pgw check`; then `pgw chat \"Hello\"`.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask a model once; the answer is printed as it comes
    Chat(ChatArgs),
    /// Show what was understood of the configuration, and every fault with its fix
    Check(CheckArgs),
    /// Read the JSON value out of a text on standard input, mended if need be
    Repair(RepairArgs),
    /// Add up the call records: calls, tokens, cost, failures, times
    Usage(UsageArgs),
    /// Play a scripted model provider on a local port
    Mock(MockArgs),
    /// See governed calls against three misbehaving sources: no key, no network
    Demo,
}

#[derive(Debug, Group)]
#[command(after_help = CHAT_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct ChatArgs {
    /// What to ask; left out or `-`: read from standard input
    pub(crate) prompt: Option<String>,
    /// Instructions to the model, sent before the prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "request")]
    pub(crate) system: Option<String>,
    /// Send a whole OpenAI-format request body from a file; `-`: standard input
    ///
    /// The options below override what the body says. Its members `stream` and `stream_options`
    /// are of no effect: --plain and --json say how the answer is delivered.
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    pub(crate) request: Option<PathBuf>,

    /// Ask for this model instead of each source's own
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Longest answer, in tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Sampling temperature
    #[arg(long, value_name = "T", value_parser = temperature, allow_negative_numbers = true)]
    pub(crate) temperature: Option<f64>,
    /// Let the model think before it answers, or not; left out: the source's setting
    #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
    pub(crate) thinking: Option<Switch>,
    /// Ask the service for one whole answer instead of a stream
    ///
    /// For services that can't stream. There is no watchdog then, only the limit in time.
    #[arg(long)]
    pub(crate) plain: bool,
    /// How long the call may take: waits, retries and the answer together
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// A name of yours for what the call belongs to; stands on its records
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Print one JSON object instead of text: the response, or {"error": …}
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the model's thinking to standard error as it comes
    #[arg(long, conflicts_with = "json")]
    pub(crate) show_thinking: bool,
    /// Print the trace to standard error: attempts, sources, tokens, cost
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Write no call records
    #[arg(long)]
    pub(crate) no_telemetry: bool,

    /// The role whose sources are used: the first part of the variables' names
    #[arg(long, value_name = "SCOPE", default_value = "LLM")]
    pub(crate) scope: String,
    #[command(flatten)]
    pub(crate) environment: EnvironmentArgs,
}

#[derive(Debug, Group)]
#[command(after_help = REPAIR_EXAMPLES)]
pub(crate) struct RepairArgs {
    /// Print the value on several lines
    #[arg(long)]
    pub(crate) pretty: bool,
    /// Fail with exit code 1 if the value was cut short
    #[arg(long)]
    pub(crate) whole: bool,
}

const REPAIR_EXAMPLES: &str = "\
Examples:
  pgw chat \"Name three rivers, as JSON.\" | pgw repair | jq .
  pgw repair --pretty < answer.txt

Valid JSON goes through as it is. Else fences, prose and thinking around the value are taken off, and
quotes, commas, brackets, comments, literals and a cut end are mended; nothing is made up. Only the
value goes to standard output; whether it was mended or cut goes to standard error.
Exit codes: 0 a value was found; 1 the text holds none, or --whole and it was cut; 2 the input is no
UTF-8 text.";

const CHAT_EXAMPLES: &str = "\
Examples:
  pgw chat \"Why is the sky blue?\"
  git diff | pgw chat --system \"Write a commit message.\"
  pgw chat --json \"Name three rivers.\" | jq -r .content
  pgw chat --request body.json --model qwen-plus -v
  pgw chat --scope VLM --deadline 90 --request - < body.json

Only the answer goes to standard output; tools the model asks for are printed as one JSON object a
line. If it breaks off, what came stays there and the error goes to standard error, exit code 1.
With --json a failure is {\"error\": {kind, class, reason, retryable, retry_after_ms, message,
partial_content, attempts, …}} on standard output; wrong arguments are told on standard error.
Exit codes: see `pgw --help`.";

#[derive(Debug, Group)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArgs {
    /// A role to check; may be given again. Left out: every role of the environment
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    #[command(flatten)]
    pub(crate) environment: EnvironmentArgs,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  pgw check
  pgw check --scope VLM --env-file deploy/.env
  pgw check --json | jq .faults

It sends nothing. Keys are never printed. It ends with 4 if there is any fault, else with 0.";

#[derive(Debug, Group)]
#[command(after_help = USAGE_EXAMPLES)]
pub(crate) struct UsageArgs {
    /// The file with the records; left out: that of `PGW_TELEMETRY_PATH`
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,
    /// Put together by model, source, day or session; several, separated by commas
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub(crate) by: Vec<By>,
    /// Only what began at this time or later: a day (UTC), or so long ago
    #[arg(long, value_name = "TIME", value_parser = when, allow_hyphen_values = true)]
    pub(crate) since: Option<When>,
    /// Only what began before this time
    #[arg(long, value_name = "TIME", value_parser = when, allow_hyphen_values = true)]
    pub(crate) until: Option<When>,
    /// Only this role
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) environment: EnvironmentArgs,
}

const USAGE_EXAMPLES: &str = "\
Examples:
  pgw usage --by model --since 7d
  pgw usage --by day,source --since 2026-11-01 --until 2026-12-01
  pgw usage --by session --json | jq '.rows[] | select(.error_rate > 0.1)'

A call counts once however many attempts it took. errors: failures among attempts and calls that
ended without one; hits: answers from the cache among calls, which cost nothing; saved: their tokens;
estimated: attempts, among all, whose tokens the service did not report. Times are those of successful
attempts; p50 and p95 are by nearest rank: the smallest that was seen which 50 or 95 of a hundred don't
exceed. `-`: not known.";

/// What usage is put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Model,
    Source,
    Day,
    Session,
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// So long before now.
    Ago(Duration),
    /// Milliseconds since 1970-01-01 UTC.
    At(u64),
}

#[derive(Debug, Group)]
#[command(after_help = MOCK_EXAMPLES)]
pub(crate) struct MockArgs {
    /// The script: a small JSON file, see below
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
}

const MOCK_EXAMPLES: &str = "\
The base URL is the first line printed; Ctrl-C ends the mock and prints its counters as JSON.

A scenario that limits the rate once and answers from then on:
  {\"endpoints\": [{
     \"path\": \"/v1/chat/completions\",
     \"answers\": [
       {\"error\": {\"status\": 429, \"code\": \"rate_limit_exceeded\", \"message\": \"slow down\"},
        \"headers\": {\"retry-after\": \"1\"}},
       {\"chat\": {\"content\": \"Hello there\", \"usage\": [5, 2]}}]}]}

An answer may also cut the stream, stall, reset the connection or send any bytes; the documentation
of the crate pgw-mock lists all fields. GET /__mock/counters shows the counters while it runs,
POST /__mock/reset sets them back.

Examples:
  pgw mock --scenario limits.json
  pgw mock --scenario limits.json --listen 127.0.0.1:8080";

#[derive(Debug, Group)]
pub(crate) struct EnvironmentArgs {
    /// The file with the settings; left out: .env in this directory, if there is one
    ///
    /// Variables of the environment win over it.
    #[arg(long, value_name = "PATH")]
    pub(crate) env_file: Option<PathBuf>,
}

impl EnvironmentArgs {
    /// The file to read, if any. One that was named is read, or reported, in any case.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let default = || Some(PathBuf::from(".env")).filter(|path| path.exists());
        self.env_file.clone().or_else(default)
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number of seconds above 0, such as 90 or 2.5".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    let limit = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if limit.is_zero() { Err(wrong()) } else { Ok(limit) }
}

/// A day such as `2026-12-01`, or a time before now such as `7d`, `12h`, `30m`.
fn when(text: &str) -> Result<When, String> {
    let wrong = || "write a day or a time ago, such as 2026-12-01 or 7d, 12h, 30m".to_owned();
    if let Some((number, unit)) = text.split_at_checked(text.len().saturating_sub(1))
        && let Ok(number) = number.parse::<u32>()
    {
        let seconds = match unit {
            "d" => 86_400,
            "h" => 3_600,
            "m" => 60,
            _ => return Err(wrong()),
        };
        return Ok(When::Ago(Duration::from_secs(u64::from(number) * seconds)));
    }
    let mut parts = text.split('-').map(|part| part.parse::<u64>().ok());
    match (parts.next().flatten(), parts.next().flatten(), parts.next().flatten(), parts.next()) {
        (Some(year), Some(month), Some(day), None) => {
            let days = days_since_1970(year, month, day).ok_or_else(wrong)?;
            Ok(When::At(days * 86_400_000))
        }
        _ => Err(wrong()),
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar; `None` if there is no such day.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let leap = |year: u64| {
        (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
    };
    let february = if leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = usize::try_from(month).ok()?.checked_sub(1)?;
    if !(1970..10_000).contains(&year) || day == 0 || day > *months.get(month)? {
        return None;
    }
    let years: u64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    Some(years + months.iter().take(month).sum::<u64>() + day - 1)
}

fn temperature(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| number.is_finite()).ok_or_else(|| "write a number, such as 0.7".into())
}

#[cfg(test)]
mod tests;
