//! A cache store that is a map, whole or with one fault.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use pgw_contract::{CacheHarness, ManualClock, cache};
use pgw_ports::{CacheBackend, CacheError, Clock};

/// What may be wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Values stay beyond their time.
    NeverExpires,
    /// A value is still there at the end of its time.
    ExpiresLate,
    /// The first time counts.
    KeepsTheFirstTime,
    /// The first value counts.
    KeepsTheFirstValue,
    /// Keys are cut at a colon.
    CutsKeys,
    /// An empty value is taken for none.
    LosesEmptyValues,
    /// All instances are one.
    SharesEverything,
    /// Nothing is kept.
    KeepsNothing,
}

type Entries = Arc<Mutex<HashMap<String, (Bytes, Duration)>>>;

#[derive(Debug)]
struct PlainCache {
    clock: Arc<ManualClock>,
    fault: Option<Fault>,
    entries: Entries,
}

impl PlainCache {
    fn key(&self, key: &str) -> String {
        let whole = self.fault != Some(Fault::CutsKeys);
        if whole { key } else { key.split(':').next().unwrap() }.to_owned()
    }
}

#[async_trait]
impl CacheBackend for PlainCache {
    async fn get(&self, key: &str) -> Result<Option<Bytes>, CacheError> {
        let now = self.clock.now();
        let entries = self.entries.lock().unwrap();
        let found = entries.get(&self.key(key)).filter(|(value, until)| {
            (*until > now
                || self.fault == Some(Fault::NeverExpires)
                || (self.fault == Some(Fault::ExpiresLate) && *until == now))
                && !(self.fault == Some(Fault::LosesEmptyValues) && value.is_empty())
        });
        Ok(found.map(|(value, _)| value.clone()))
    }

    async fn set(&self, key: &str, value: Bytes, ttl: Duration) -> Result<(), CacheError> {
        let until = self.clock.now() + ttl;
        let mut entries = self.entries.lock().unwrap();
        let key = self.key(key);
        let known = entries.get(&key).cloned();
        let entry = match (self.fault, known) {
            (Some(Fault::KeepsNothing), _) => return Ok(()),
            (Some(Fault::KeepsTheFirstTime), Some((_, first))) => (value, first),
            (Some(Fault::KeepsTheFirstValue), Some((first, _))) => (first, until),
            _ => (value, until),
        };
        entries.insert(key, entry);
        Ok(())
    }
}

#[derive(Default)]
struct Plain {
    clock: Arc<ManualClock>,
    fault: Option<Fault>,
    shared: Entries,
}

impl Plain {
    fn with(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }
}

#[async_trait]
impl CacheHarness for Plain {
    async fn fresh(&self) -> Arc<dyn CacheBackend> {
        let shares = self.fault == Some(Fault::SharesEverything);
        let entries = if shares { Arc::clone(&self.shared) } else { Entries::default() };
        Arc::new(PlainCache { clock: Arc::clone(&self.clock), fault: self.fault, entries })
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

mod the_model {
    pgw_contract::cache_suite!(super::Plain::default());
}

macro_rules! caught {
    ($($name:ident: $fault:ident by $case:ident, $says:literal;)*) => {
        $(
            #[tokio::test]
            #[should_panic(expected = $says)]
            async fn $name() {
                cache::$case(&Plain::with(Fault::$fault)).await;
            }
        )*
    };
}

caught! {
    values_for_ever_are_caught: NeverExpires by a_value_is_gone_when_its_time_is_over, "under \"a\"";
    late_expiry_is_caught: ExpiresLate by a_value_is_gone_when_its_time_is_over, "under \"a\"";
    a_first_time_is_caught: KeepsTheFirstTime by the_last_value_counts_with_its_own_time, "under \"a\"";
    a_first_value_is_caught: KeepsTheFirstValue by the_last_value_counts_with_its_own_time, "under \"a\"";
    cut_keys_are_caught: CutsKeys by keys_that_look_alike_never_meet, "under \"a\"";
    lost_empty_values_are_caught: LosesEmptyValues by values_are_opaque, "0 bytes";
    sharing_is_caught: SharesEverything by instances_never_interact, "under \"a\"";
    keeping_nothing_is_caught: KeepsNothing by racing_writers_leave_one_whole_value, "went missing";
    histories_catch_late_expiry: ExpiresLate by histories_match_the_model, "Advance";
    histories_catch_a_first_time: KeepsTheFirstTime by histories_match_the_model, "steps that are needed";
}
