//! One call that finds its source broken. Run it four times: three failures in three processes open
//! the breaker, the fourth process is kept away.
#![expect(clippy::print_stdout, reason = "it is there to be looked at")]

use std::{
    env,
    error::Error,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use custom_store::{FileBreaker, Rules};
use pgw_ports::{Breaker as _, Clock};
use pgw_types::Entry;

/// The clock that all processes of a machine share.
#[derive(Debug)]
struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Duration {
        #[expect(clippy::disallowed_methods, reason = "this is the clock that is injected")]
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn unix_ms(&self) -> u64 {
        u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os()
        .nth(1)
        .map_or_else(|| env::temp_dir().join("custom-store.json"), PathBuf::from);
    let rules = Rules {
        threshold: 3,
        cooldown: Duration::from_mins(10),
        dead_cooldown: Duration::from_hours(1),
        probe_lease: Duration::from_mins(1),
    };
    let source: Arc<str> = "one".into();
    let sources = [(Arc::clone(&source), None)];
    let breaker = FileBreaker::open(&path, rules, sources, Arc::new(WallClock))?;
    println!("state: {}", path.display());
    match breaker.try_enter(&source).await? {
        Entry::Admitted(ticket) => {
            let part = if ticket.probe.is_some() { "as the one probe" } else { "as usual" };
            println!("source {source} admits this call {part}; say it fails");
            match breaker.record_failure(&ticket).await? {
                Some(cooldown) => println!("that opened its breaker for {} s", cooldown.as_secs()),
                None => println!("its breaker is still closed; run this again"),
            }
        }
        Entry::Refused { retry_after } => {
            println!("source {source} is kept free of calls for {} s more", retry_after.as_secs());
        }
    }
    Ok(())
}
