//! The exit codes: what a script can tell without reading a word.

use pgw_client::PgwError;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Ok,
    /// The call failed in one of the four classes, or its answer could not be written.
    CallFailed,
    /// Wrong arguments, or an input that can't be read. clap ends with the same code.
    Usage,
    /// The scope can't serve now.
    Unavailable,
    /// The configuration is at fault.
    Configuration,
    /// Ctrl-C, as shells number it: 128 and the signal's 2.
    Interrupted,
}

impl Exit {
    /// The table of `pgw --help`.
    pub(crate) const HELP: &'static str = "\
Exit codes:
  0    done
  1    the call failed: rejected, of no use, or broken off; or the answer could not be written
  2    wrong arguments, or an input that can't be read
  3    no source can serve now: try again later (retry_after says when)
  4    the configuration is at fault: `pgw check` shows where
  130  interrupted by Ctrl-C";

    /// The number that the process ends with.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::CallFailed => 1,
            Self::Usage => 2,
            Self::Unavailable => 3,
            Self::Configuration => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<&PgwError> for Exit {
    fn from(error: &PgwError) -> Self {
        match error {
            PgwError::Call(_) => Self::CallFailed,
            PgwError::Unavailable(_) => Self::Unavailable,
            PgwError::SourceNotConfigured(_) | PgwError::Config(_) => Self::Configuration,
        }
    }
}
