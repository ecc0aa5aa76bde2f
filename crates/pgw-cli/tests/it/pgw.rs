//! The command under test.

use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use pgw_mock::MockServer;
use serde_json::Value;
use tempfile::TempDir;

/// A key that must never be seen.
pub(crate) const SECRET: &str = "sk-never-to-be-seen-7f3a91";

/// An empty directory in which the command runs.
pub(crate) struct Desk {
    directory: TempDir,
}

/// How the command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// With one source, at a mock, and backoffs that nobody has to wait for.
    pub(crate) fn at(mock: &MockServer) -> Self {
        let desk = Self::new();
        desk.write(
            ".env",
            &format!(
                "LLM__GENERIC__1__BASE_URL={}\nLLM__GENERIC__1__API_KEY={SECRET}\n\
                 LLM__GENERIC__1__MODEL=gpt-4o-mini\nLLM__RETRY__MAX_ATTEMPTS=2\n\
                 LLM_RETRY_BASE_DELAY=0.01\nLLM_RETRY_MAX_DELAY=0.02\n",
                mock.base_url()
            ),
        );
        desk
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Where a file of the directory is, or would be.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The command, not yet started. Its standard input is empty unless a test says otherwise.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pgw"));
        command
            .args(args)
            .env_clear()
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::from(self.command(args).output().unwrap())
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ended {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ended::from(child.wait_with_output().unwrap())
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let ended = Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        // CLI-037, whatever the test is about.
        assert!(!ended.out.contains(SECRET), "{}", ended.out);
        assert!(!ended.err.contains(SECRET), "{}", ended.err);
        ended
    }
}

impl Ended {
    /// Checks the code, and shows what was printed if it is another.
    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "out: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Standard output as the one JSON object that it must be.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}\nout: {}\nerr: {}", self.out, self.err));
        assert!(value.is_object(), "{value}");
        value
    }
}

/// Sends a signal by its name, as a shell would.
#[cfg(unix)]
pub(crate) fn signal(child: &std::process::Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}
