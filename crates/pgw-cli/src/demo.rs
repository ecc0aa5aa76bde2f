//! `pgw demo`: governed calls against three misbehaving sources, without a key or a network.
//!
//! The sources are mocks on loopback, and everything else is real: the client through its public
//! face, HTTP over sockets, the watchdog, the records in SQLite (in a directory that is removed at
//! the end). Each scene has a client of its own, so that no cooldown or breaker of one scene decides
//! another, and the outcome is the same each time.

use std::{fmt::Write as _, io, time::Duration};

use pgw_client::{CallTrace, LlmResponse, PgwError};
use tokio::time::Instant;

use crate::{block_on, console, exit::Exit, output, stop::Stop};

mod scenes;
mod stage;
mod totals;

use scenes::{End, SCENES, Scene};
use stage::Stage;

pub(crate) fn run() -> io::Result<Exit> {
    block_on(async {
        let mut stop = Stop::listen()?;
        tokio::select! {
            ended = play() => ended,
            () = stop.asked() => Ok(Exit::Interrupted),
        }
    })
}

async fn play() -> io::Result<Exit> {
    let stage = Stage::set().await?;
    console::out(
        "Three mock sources on this machine: north is asked first, then south, then west.\n\n",
    )?;
    let mut unexpected = 0;
    for (number, scene) in (1..).zip(&SCENES) {
        let played = perform(&stage, scene).await;
        console::out(&played.told(number, scene))?;
        let wrong = played.unlike(scene);
        for difference in &wrong {
            console::out(&format!("     UNEXPECTED: {difference}\n"))?;
        }
        unexpected += wrong.len();
    }
    let totals = stage.totals()?;
    console::out(&totals::told(&totals))?;
    for difference in stage.unlike(&totals, &SCENES) {
        console::out(&format!("UNEXPECTED: {difference}\n"))?;
        unexpected += 1;
    }
    stage.strike().await?;
    if unexpected > 0 {
        console::err(&format!("pgw: {unexpected} outcomes were not the expected ones\n"));
        return Ok(Exit::CallFailed);
    }
    console::out(
        "\nNext: copy .env.example to .env, write one source into it, then run\n  \
         pgw check && pgw chat \"Why is the sky blue?\"\n",
    )?;
    Ok(Exit::Ok)
}

/// What became of a scene.
#[derive(Debug)]
struct Played {
    result: Result<LlmResponse, PgwError>,
    took: Duration,
}

async fn perform(stage: &Stage, scene: &Scene) -> Played {
    let client = match stage.client(scene) {
        Ok(client) => client,
        Err(error) => return Played { result: Err(error), took: Duration::ZERO },
    };
    let started = Instant::now();
    let result = client.chat(scene.prompt).session("demo").await;
    let took = started.elapsed();
    // The records of the scene are in the store when the next one begins.
    client.aclose().await;
    Played { result, took }
}

impl Played {
    fn trace(&self) -> Option<&CallTrace> {
        match &self.result {
            Ok(response) => Some(&response.trace),
            Err(error) => error.trace(),
        }
    }

    /// The scene in one line, its attempts below it.
    fn told(&self, number: usize, scene: &Scene) -> String {
        let end = match &self.result {
            Ok(response) => format!("\"{}\"", response.content),
            Err(error) => match error.call() {
                Some(call) => format!("failed: {}", output::one_line(call.message())),
                None => format!("failed: {}", output::one_line(&error.to_string())),
            },
        };
        let took = self.took.as_millis();
        let mut text = format!("{number}. {}: {} -> {end} ({took} ms)\n", scene.name, scene.story);
        for attempt in self.trace().map_or(&[][..], |trace| &trace.attempts) {
            let (name, ms) = (&attempt.source_name, attempt.latency_ms);
            let outcome = output::outcome(attempt);
            let _ = writeln!(text, "     {name:<6} {outcome:<58} {ms:>4} ms");
        }
        text
    }

    /// Where it differs from what must come of the scene.
    fn unlike(&self, scene: &Scene) -> Vec<String> {
        let mut differences = Vec::new();
        let attempts: Vec<_> = self
            .trace()
            .map_or(&[][..], |trace| &trace.attempts)
            .iter()
            .map(|attempt| (&*attempt.source_name, attempt.fault))
            .collect();
        if attempts != scene.attempts {
            differences.push(format!("the attempts should be {:?}", scene.attempts));
        }
        let as_expected = match (&scene.end, &self.result) {
            (End::Answer(text), Ok(response)) => response.content == *text,
            (End::Failure(fault), Err(error)) => {
                error.call().is_some_and(|call| call.fault() == *fault)
            }
            (End::Answer(_), Err(_)) | (End::Failure(_), Ok(_)) => false,
        };
        if !as_expected {
            differences.push(format!("it should end in {:?}", scene.end));
        }
        differences
    }
}
