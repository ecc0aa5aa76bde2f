//! The `cargo xtask` command: reads its arguments, runs a check, prints the verdict.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool answers on its standard streams"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask check-layers [--manifest-path PATH]

Checks the workspace against the rules in xtask/src/rules.rs: which crate may use which, crates
that a layer must not pull in, who reads the environment, words that have no place here, and
tidiness of manifests and sources. Reports every violation at once.

  --manifest-path PATH   check the workspace of this Cargo.toml (default: the current one)

Exit status: 0 all rules hold, 1 at least one violation, 2 the check could not run.";

/// What the command line asks for.
enum Asked {
    Help,
    CheckLayers(Option<PathBuf>),
}

fn main() -> ExitCode {
    match asked(std::env::args().skip(1)) {
        Ok(Asked::Help) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Asked::CheckLayers(manifest)) => check_layers(manifest.as_deref()),
        Err(fault) => {
            eprintln!("xtask: {fault}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn asked(mut args: impl Iterator<Item = String>) -> Result<Asked, String> {
    match args.next().as_deref() {
        Some("check-layers") => {}
        Some("help" | "--help" | "-h") | None => return Ok(Asked::Help),
        Some(other) => return Err(format!("no such command: {other}")),
    }
    let mut manifest = None;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--manifest-path" => {
                let path = args.next().ok_or("--manifest-path needs a path")?;
                manifest = Some(PathBuf::from(path));
            }
            "--help" | "-h" => return Ok(Asked::Help),
            other => return Err(format!("no such option: {other}")),
        }
    }
    Ok(Asked::CheckLayers(manifest))
}

fn check_layers(manifest: Option<&Path>) -> ExitCode {
    let graph = match xtask::gather(manifest) {
        Ok(graph) => graph,
        Err(fault) => {
            eprintln!("xtask: {fault}");
            return ExitCode::from(2);
        }
    };
    let violations = xtask::evaluate(&graph, &xtask::house());
    for violation in &violations {
        println!("{violation}\n");
    }
    let looked_at = format!(
        "{} members, {} packages, {} files",
        graph.members.len(),
        graph.packages.len(),
        graph.files.len()
    );
    if violations.is_empty() {
        println!("check-layers: all rules hold ({looked_at})");
        ExitCode::SUCCESS
    } else {
        println!("check-layers: violations: {} ({looked_at})", violations.len());
        ExitCode::FAILURE
    }
}
