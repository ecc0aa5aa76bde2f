//! A recorder that keeps records in a list, whole or with one fault.

use std::sync::{
    Arc, Condvar, Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use pgw_contract::{TelemetryHarness, telemetry};
use pgw_ports::{Receipt, TelemetryRecorder};
use pgw_types::CallRecord;

/// What may be wrong with a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A price that is not known becomes nothing to pay.
    MakesUpPrices,
    /// Texts end at a NUL.
    CutsAtNul,
    /// A record with a known id is kept beside the first.
    KeepsTwice,
    /// A record with a known id takes the first one's place.
    Replaces,
    /// Only records whose receipts are read are kept.
    WaitsForReaders,
    /// Offers after the end are kept.
    NeverCloses,
    /// What was offered before the end is lost.
    ForgetsAtClose,
    /// An offer needs a runtime.
    NeedsARuntime,
    /// The receipt comes before the record is kept.
    PromisesEarly,
    /// An offer waits while the store stands still.
    WaitsForTheStore,
}

/// Whether the store stands still, and a wake-up for when it goes on.
#[derive(Debug, Default)]
struct Standstill(Mutex<bool>, Condvar);

impl Standstill {
    fn set(&self, stands: bool) {
        *self.0.lock().unwrap() = stands;
        self.1.notify_all();
    }

    fn is_set(&self) -> bool {
        *self.0.lock().unwrap()
    }

    fn wait(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |stands| *stands).unwrap());
    }
}

#[derive(Debug, Default)]
struct PlainRecorder {
    fault: Option<Fault>,
    kept: Arc<Mutex<Vec<CallRecord>>>,
    late: Mutex<Vec<CallRecord>>,
    closed: AtomicBool,
    standstill: Arc<Standstill>,
}

fn keep(kept: &Mutex<Vec<CallRecord>>, record: CallRecord, fault: Option<Fault>) {
    let mut kept = kept.lock().unwrap();
    match kept.iter().position(|known| known.call_id == record.call_id) {
        Some(_) if fault == Some(Fault::KeepsTwice) => kept.push(record),
        Some(at) if fault == Some(Fault::Replaces) => kept[at] = record,
        Some(_) => {}
        None => kept.push(record),
    }
}

#[async_trait]
impl TelemetryRecorder for PlainRecorder {
    fn offer(&self, mut record: CallRecord) -> Receipt {
        match self.fault {
            Some(Fault::MakesUpPrices) => record.cost = record.cost.or(Some(0.0)),
            Some(Fault::CutsAtNul) => {
                let end = record.response.find('\0').unwrap_or(record.response.len());
                record.response.truncate(end);
            }
            Some(Fault::NeedsARuntime) => drop(tokio::runtime::Handle::current()),
            Some(Fault::WaitsForTheStore) => self.standstill.wait(),
            _ => {}
        }
        if self.closed.load(Ordering::SeqCst) && self.fault != Some(Fault::NeverCloses) {
            return Box::pin(std::future::ready(()));
        }
        if self.fault == Some(Fault::WaitsForReaders) {
            let kept = Arc::clone(&self.kept);
            return Box::pin(async move { keep(&kept, record, None) });
        }
        let is_late = matches!(self.fault, Some(Fault::ForgetsAtClose | Fault::PromisesEarly));
        if is_late || self.standstill.is_set() {
            self.late.lock().unwrap().push(record);
        } else {
            keep(&self.kept, record, self.fault);
        }
        Box::pin(std::future::ready(()))
    }

    async fn flush(&self) {
        for record in self.late.lock().unwrap().drain(..) {
            keep(&self.kept, record, None);
        }
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if self.fault == Some(Fault::ForgetsAtClose) {
            self.late.lock().unwrap().clear();
        }
        self.flush().await;
    }
}

/// Makes recorders and remembers their lists.
struct Harness {
    fault: Option<Fault>,
    lists: Mutex<Vec<Arc<Mutex<Vec<CallRecord>>>>>,
    standstill: Arc<Standstill>,
}

impl Harness {
    fn new(fault: Option<Fault>) -> Self {
        Self { fault, lists: Mutex::default(), standstill: Arc::default() }
    }
}

#[async_trait]
impl TelemetryHarness for Harness {
    async fn fresh(&self) -> Arc<dyn TelemetryRecorder> {
        let standstill = Arc::clone(&self.standstill);
        let recorder = PlainRecorder { fault: self.fault, standstill, ..PlainRecorder::default() };
        self.lists.lock().unwrap().push(Arc::clone(&recorder.kept));
        Arc::new(recorder)
    }

    async fn kept(&self, _: &Arc<dyn TelemetryRecorder>) -> Vec<CallRecord> {
        // Each case makes one recorder.
        self.lists.lock().unwrap().last().unwrap().lock().unwrap().clone()
    }

    async fn stall(&self, _: &Arc<dyn TelemetryRecorder>) {
        self.standstill.set(true);
    }

    async fn resume(&self, _: &Arc<dyn TelemetryRecorder>) {
        self.standstill.set(false);
    }
}

mod the_list {
    pgw_contract::telemetry_suite!(super::Harness::new(None));
}

macro_rules! caught {
    ($($name:ident: $fault:ident by $case:ident, $says:literal;)*) => {
        $(
            #[tokio::test]
            #[should_panic(expected = $says)]
            async fn $name() {
                telemetry::$case(&Harness::new(Some(Fault::$fault))).await;
            }
        )*
    };
}

caught! {
    made_up_prices_are_caught: MakesUpPrices by absent_fields_stay_absent, "record a";
    texts_cut_at_nul_are_caught: CutsAtNul by odd_texts_survive, "record id-0";
    doubles_are_caught: KeepsTwice by a_known_id_is_ignored, "second";
    replacing_is_caught: Replaces by a_known_id_is_ignored, "second";
    waiting_for_readers_is_caught: WaitsForReaders by a_receipt_that_nobody_reads_changes_nothing, "left == right";
    staying_open_is_caught: NeverCloses by closing_is_idempotent_and_final, "left == right";
    forgetting_at_the_end_is_caught: ForgetsAtClose by closing_is_idempotent_and_final, "left == right";
    needing_a_runtime_is_caught: NeedsARuntime by offers_from_outside_a_runtime_are_taken, "must not need a runtime";
    waiting_for_the_store_is_caught: WaitsForTheStore by offers_never_wait_for_the_store, "must not wait for the store";
    promising_early_is_caught: PromisesEarly by a_receipt_comes, "left == right";
}
