//! The `pgw` command: ask a model, check a configuration, mend JSON, add up the records, play a provider, see a
//! demonstration.
//!
//! It is a face of `pgw-client` and does nothing that the library can't do: `args.rs` reads the
//! command line, one file for each command does the work, `output.rs` says what became of a call
//! (as JSON or for people), `exit.rs` holds the exit codes.

mod args;
mod chat;
mod check;
mod console;
mod demo;
mod exit;
mod mock;
mod output;
mod repair;
mod stop;
mod usage;

use std::{io, process::ExitCode};

use clap::Parser as _;

use crate::{
    args::{Args, Command},
    exit::Exit,
};

fn main() -> ExitCode {
    let args = Args::parse();
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(io::stderr)
        .without_time()
        .with_target(false)
        .init();
    let ended = match &args.command {
        Command::Chat(args) => chat::run(args),
        Command::Check(args) => check::run(args),
        Command::Repair(args) => repair::run(args),
        Command::Usage(args) => usage::run(args),
        Command::Mock(args) => mock::run(args),
        Command::Demo => demo::run(),
    };
    let exit = ended.unwrap_or_else(|error| {
        // Whoever read our output has seen enough (`pgw chat … | head -1`): no fault of ours.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Exit::Ok;
        }
        console::err(&format!("pgw: {error}\n"));
        Exit::CallFailed
    });
    ExitCode::from(exit.code())
}

/// Runs one command's future to its end.
///
/// One thread is enough: there is one call at a time, what blocks (the record store) has a thread of
/// its own, and a single thread starts faster and uses less.
fn block_on<T>(future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}
