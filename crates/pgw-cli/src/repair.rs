//! `pgw repair`: the JSON value in a text, or why there is none.

use std::io::{self, Read as _};

use pgw_client::extract;

use crate::{args::RepairArgs, console, exit::Exit};

/// Reads standard input to its end and prints the value.
pub(crate) fn run(args: &RepairArgs) -> io::Result<Exit> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        console::err(&format!(
            "pgw repair: standard input is no UTF-8 text ({} bytes); convert it first\n",
            bytes.len()
        ));
        return Ok(Exit::Usage);
    };
    let found = match extract(text) {
        Ok(found) => found,
        Err(error) => {
            let length = bytes.len();
            console::err(&format!("pgw repair: {error} (standard input, {length} bytes)\n"));
            return Ok(Exit::CallFailed);
        }
    };
    let value = if args.pretty { format!("{:#}", found.value) } else { found.json };
    console::out(&(value + "\n"))?;
    match (found.truncated, found.repaired) {
        (true, _) => console::err("pgw repair: the value was cut short; this is its beginning\n"),
        (false, true) => {
            console::err("pgw repair: the value was taken out of its text or mended\n");
        }
        (false, false) => {}
    }
    Ok(if found.truncated && args.whole { Exit::CallFailed } else { Exit::Ok })
}
