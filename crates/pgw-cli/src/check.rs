//! `pgw check`: what was understood of the configuration, and every fault with its fix.

use std::{fmt, io};

use pgw_client::{
    CheckReport, ConfigError, ConfigFault, Environment, GatewayClient, GatewaySettings, PgwError,
    TelemetrySettings,
};
use serde::Serialize;

use crate::{args::CheckArgs, console, exit::Exit, output};

pub(crate) fn run(args: &CheckArgs) -> io::Result<Exit> {
    let finding = Finding::of(args);
    let text = if args.json { output::json(&finding)? } else { finding.to_string() };
    console::out(&text)?;
    Ok(if finding.faults.is_empty() { Exit::Ok } else { Exit::Configuration })
}

/// What was found. Scripts read its members: a name that stands here stays.
#[derive(Debug, Default, Serialize)]
struct Finding {
    scopes: Vec<Scope>,
    faults: Vec<ScopedFault>,
}

/// A scope without a fault.
#[derive(Debug, Serialize)]
struct Scope {
    #[serde(flatten)]
    report: CheckReport,
    /// The layers around each call, from the outside in.
    layers: String,
}

/// A fault, and the scope it was found in; `None`: the file can't be read as a whole.
#[derive(Debug, Serialize)]
struct ScopedFault {
    scope: Option<String>,
    #[serde(flatten)]
    fault: ConfigFault,
}

impl Finding {
    fn of(args: &CheckArgs) -> Self {
        let mut finding = Self::default();
        let environment = match Environment::from_process(args.environment.file().as_deref()) {
            Ok(environment) => environment,
            Err(error) => {
                finding.add(None, error.faults());
                return finding;
            }
        };
        let mut scopes =
            if args.scope.is_empty() { environment.scopes() } else { args.scope.clone() };
        if scopes.is_empty() {
            // Then the fault is that there is no source, and it says how one is written.
            scopes.push("LLM".into());
        }
        for name in scopes {
            match scope(&environment, &name) {
                Ok(scope) => finding.scopes.push(scope),
                Err(error) => finding.add(Some(&name), error.faults()),
            }
        }
        finding
    }

    fn add(&mut self, scope: Option<&str>, faults: &[ConfigFault]) {
        self.faults.extend(
            faults
                .iter()
                .map(|fault| ScopedFault { scope: scope.map(str::to_owned), fault: fault.clone() }),
        );
    }
}

/// Resolves a scope and puts a client together, which also reads certificates; nothing is sent.
fn scope(environment: &Environment, name: &str) -> Result<Scope, ConfigError> {
    let report = CheckReport::load(environment, name)?;
    let mut settings = GatewaySettings::from_environment(environment, name)?;
    // A look at the settings leaves no file behind.
    settings.telemetry = TelemetrySettings::Off;
    let client = GatewayClient::builder().proxy(environment.proxy()).build(settings);
    let layers = match client {
        Ok(client) => client.describe(),
        Err(PgwError::Config(error)) => return Err(error),
        Err(other) => {
            let fault = ConfigFault::new(name, other.to_string(), "mend what it names");
            return Err(ConfigError::new(vec![fault]));
        }
    };
    Ok(Scope { report, layers })
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for scope in &self.scopes {
            write!(f, "{}", scope.report)?;
            writeln!(f, "  layers {}\n", scope.layers)?;
        }
        let mut last = None;
        for ScopedFault { scope, fault } in &self.faults {
            if last != Some(scope) {
                match scope {
                    Some(scope) => writeln!(f, "scope {scope} is at fault:")?,
                    None => writeln!(f, "the file is at fault:")?,
                }
                last = Some(scope);
            }
            let (path, problem) = (&fault.path, output::one_line(&fault.problem));
            writeln!(f, "  {path}: {problem}")?;
            writeln!(f, "    to mend it: {}", output::one_line(&fault.fix))?;
        }
        match self.faults.len() {
            0 => writeln!(f, "no fault found; nothing was sent"),
            1 => writeln!(f, "1 fault"),
            count => writeln!(f, "{count} faults"),
        }
    }
}
