//! `pgw mock`: a scripted provider in the foreground.

use std::{fs, io, path::Path};

use pgw_mock::{MockServer, Scenario};

use crate::{args::MockArgs, block_on, console, exit::Exit, output, stop::Stop};

pub(crate) fn run(args: &MockArgs) -> io::Result<Exit> {
    match scenario(&args.scenario) {
        Ok(scenario) => block_on(serve(args, scenario)),
        Err(problem) => Ok(unusable(&problem)),
    }
}

fn scenario(path: &Path) -> Result<Scenario, String> {
    let file = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("can't read {file}: {error}"))?;
    Scenario::from_json(&text).map_err(|error| format!("{file}: {error}"))
}

async fn serve(args: &MockArgs, scenario: Scenario) -> io::Result<Exit> {
    // Whoever has read the address may stop us at once.
    let mut stop = Stop::listen()?;
    let mock = match MockServer::bind(args.listen, scenario).await {
        Ok(mock) => mock,
        Err(error) => return Ok(unusable(&error.to_string())),
    };
    console::out(&format!("{}\n", mock.base_url()))?;
    stop.asked().await;
    let counters = mock.counters();
    mock.shutdown().await;
    console::out(&output::json(&counters)?)?;
    Ok(Exit::Ok)
}

fn unusable(problem: &str) -> Exit {
    console::err(&format!("error: {problem}\n"));
    Exit::Usage
}
