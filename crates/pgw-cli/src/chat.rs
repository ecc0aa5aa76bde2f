//! `pgw chat`: one governed call, printed as it comes or as one JSON object.

use std::{io, time::Duration};

use pgw_client::{
    CallOptions, ChatCall, ChatEvent, ChatRequest, Environment, GatewayClient, GatewaySettings,
    LlmResponse, PgwError, TelemetrySettings,
};

use crate::{
    args::ChatArgs,
    block_on, console,
    exit::Exit,
    output::{self, Failure},
    stop::Stop,
};

mod ask;
mod text;

/// How long the end may take once the answer is there: the records are being written.
const CLOSING: Duration = Duration::from_secs(3);

pub(crate) fn run(args: &ChatArgs) -> io::Result<Exit> {
    // Before the runtime, and so before we listen for Ctrl-C: while a prompt is being typed it ends
    // the process as usual.
    match ask::request(args, &ask::Stdin) {
        Ok(request) => block_on(governed(args, request)),
        Err(ask::Unasked::Usage(problem)) => {
            console::err(&format!("error: {problem}\n\nFor more information, try '--help'.\n"));
            Ok(Exit::Usage)
        }
        Err(ask::Unasked::Body(faults)) => {
            tell(args, &Failure::of_body(&args.scope, &faults))?;
            Ok(Exit::CallFailed)
        }
    }
}

async fn governed(args: &ChatArgs, request: ChatRequest) -> io::Result<Exit> {
    let mut stop = Stop::listen()?;
    let client = match client(args) {
        Ok(client) => client,
        Err(error) => return failed(args, &error),
    };
    let call = client.chat_request(request).options(options(args));
    let ended = tokio::select! {
        // The answer wins if both are there.
        biased;
        ended = answered(args, call) => Some(ended),
        () = stop.asked() => None,
    };
    // The call is over or dropped by now; a dropped one still has its record to be written.
    if tokio::time::timeout(CLOSING, client.aclose()).await.is_err() {
        console::err("pgw: the call records are not all written: their store is too slow\n");
    }
    ended.unwrap_or_else(|| {
        console::err("pgw: interrupted; the call was dropped\n");
        Ok(Exit::Interrupted)
    })
}

/// A client for the scope, as the environment says.
fn client(args: &ChatArgs) -> Result<GatewayClient, PgwError> {
    let environment = Environment::from_process(args.environment.file().as_deref())?;
    let mut settings = GatewaySettings::from_environment(&environment, &args.scope)?;
    if args.no_telemetry {
        settings.telemetry = TelemetrySettings::Off;
    }
    GatewayClient::builder().proxy(environment.proxy()).build(settings)
}

fn options(args: &ChatArgs) -> CallOptions {
    CallOptions {
        session_id: args.session.clone(),
        stream: !args.plain,
        deadline: args.deadline,
        ..CallOptions::default()
    }
}

async fn answered(args: &ChatArgs, call: ChatCall) -> io::Result<Exit> {
    if args.json {
        // Nobody sees it before its end, so a stream that breaks may still be tried again.
        return match call.await {
            Ok(response) => {
                console::out(&output::json(&response)?)?;
                trace(args, &response);
                Ok(Exit::Ok)
            }
            Err(error) => failed(args, &error),
        };
    }
    let mut stream = match call.stream().await {
        Ok(stream) => stream,
        Err(error) => return failed(args, &error),
    };
    let mut page = text::Page::new(args.show_thinking);
    while let Some(event) = stream.next_event().await {
        match event {
            Ok(ChatEvent::ContentDelta { choice: 0, text }) => page.content(&text)?,
            Ok(ChatEvent::ThinkingDelta { choice: 0, text }) => page.thinking(&text),
            Ok(_) => {}
            Err(error) => {
                page.end()?;
                return failed(args, &error);
            }
        }
    }
    page.end()?;
    let Some(response) = stream.into_response() else {
        console::err("pgw: the stream ended without an error and without its response\n");
        return Ok(Exit::CallFailed);
    };
    text::rest(&response)?;
    trace(args, &response);
    Ok(Exit::Ok)
}

fn trace(args: &ChatArgs, response: &LlmResponse) {
    if args.verbose {
        console::err(&output::story(response));
    }
}

fn failed(args: &ChatArgs, error: &PgwError) -> io::Result<Exit> {
    tell(args, &Failure::of(error))?;
    Ok(Exit::from(error))
}

/// Says what went wrong: to a program on standard output, to a person on standard error.
fn tell(args: &ChatArgs, failure: &Failure<'_>) -> io::Result<()> {
    if args.json {
        console::out(&output::json(failure)?)?;
    }
    if !args.json || args.verbose {
        console::err(&failure.to_string());
    }
    Ok(())
}
