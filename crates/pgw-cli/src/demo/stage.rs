//! Where the demonstration plays: three mocks, a client for each scene, a store for the records.

use std::{io, path::PathBuf, time::Duration};

use pgw_client::{
    CallLog, GatewayClient, GatewaySettings, PgwError, SourceConfig, SourceTotals,
    TelemetrySettings, Timeouts,
};
use pgw_mock::{MockServer, Scenario};
use tempfile::TempDir;

use super::{scenes::Scene, totals};

/// The sources, in the order in which they are asked, with their scripts.
const SCRIPTS: [(&str, &str); 3] = [
    ("north", include_str!("../../scenarios/north.json")),
    ("south", include_str!("../../scenarios/south.json")),
    ("west", include_str!("../../scenarios/west.json")),
];

/// A model that the built-in price table knows.
const MODEL: &str = "gpt-4o-mini";

/// Generous, so that a busy machine changes no outcome.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    ttft: Duration::from_secs(10),
    inter_token: Duration::from_secs(5),
    total: Duration::from_secs(20),
};

/// How long a source that is going to fall silent may do so.
const PATIENCE: Duration = Duration::from_millis(500);

/// The running mocks and the store.
#[derive(Debug)]
pub(crate) struct Stage {
    sources: Vec<(&'static str, MockServer)>,
    directory: TempDir,
    store: PathBuf,
}

impl Stage {
    /// Starts the mocks on free ports of loopback.
    pub(crate) async fn set() -> io::Result<Self> {
        let mut sources = Vec::with_capacity(SCRIPTS.len());
        for (name, script) in SCRIPTS {
            let scenario = Scenario::from_json(script).map_err(io::Error::other)?;
            let mock = MockServer::start(scenario).await.map_err(io::Error::other)?;
            sources.push((name, mock));
        }
        let directory = tempfile::Builder::new().prefix("pgw-demo-").tempdir()?;
        let store = directory.path().join("calls.sqlite");
        Ok(Self { sources, directory, store })
    }

    /// A client that knows nothing of the other scenes.
    pub(crate) fn client(&self, scene: &Scene) -> Result<GatewayClient, PgwError> {
        GatewayClient::from_settings(self.settings(scene))
    }

    fn settings(&self, scene: &Scene) -> GatewaySettings {
        let sources = (0..).zip(&self.sources).map(|(tier, (name, mock))| {
            let url = format!("http://{}/{}/v1", mock.address(), scene.name);
            let mut source = SourceConfig::new(*name, "generic", url, "demo-key", MODEL);
            source.tier = tier;
            source.trust_env = false;
            source.timeouts = TIMEOUTS;
            if scene.stalls_at == Some(*name) {
                source.timeouts.inter_token = PATIENCE;
            }
            source
        });
        let mut settings = GatewaySettings::new("DEMO", sources.collect());
        settings.selector = "ordered".into();
        settings.retry.base_delay = Duration::from_millis(40);
        settings.retry.max_delay = Duration::from_millis(200);
        settings.telemetry = TelemetrySettings::Sqlite { path: self.store.clone() };
        settings
    }

    /// What the store says of each source.
    pub(crate) fn totals(&self) -> io::Result<Vec<SourceTotals>> {
        let log = CallLog::open(&self.store).map_err(io::Error::other)?;
        log.totals_by_source().map_err(io::Error::other)
    }

    /// Where records and received calls differ from the attempts of the scenes: none may be lost,
    /// and none made behind our back.
    pub(crate) fn unlike(&self, totals: &[SourceTotals], scenes: &[Scene]) -> Vec<String> {
        let mut differences = Vec::new();
        for (name, mock) in &self.sources {
            differences.extend(totals::unlike(totals, name, scenes));
            let (received, attempts) =
                (mock.counters().received(), totals::attempts_on(name, scenes).0);
            if received != attempts {
                differences.push(format!("{name} received {received} calls instead of {attempts}"));
            }
        }
        differences
    }

    /// Stops the mocks and removes the store.
    pub(crate) async fn strike(self) -> io::Result<()> {
        for (_, mock) in self.sources {
            mock.shutdown().await;
        }
        self.directory.close()
    }
}
