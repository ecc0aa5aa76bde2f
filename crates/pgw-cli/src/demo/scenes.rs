//! The calls of the demonstration, each with what must come of it.
//!
//! The sources' scripts are in `scenarios/`, one file a source; a scene is the first part of a path
//! there.

use pgw_client::Fault;

/// One call.
#[derive(Debug)]
pub(crate) struct Scene {
    /// The first part of the paths that the mocks answer it on.
    pub(crate) name: &'static str,
    /// What happens, in words.
    pub(crate) story: &'static str,
    /// What is asked.
    pub(crate) prompt: &'static str,
    /// The attempts that must be made, in order: the source, and what it fails of.
    pub(crate) attempts: &'static [(&'static str, Option<Fault>)],
    /// The source that falls silent, if one does; its watchdog is set to half a second.
    pub(crate) stalls_at: Option<&'static str>,
    /// How the call must end.
    pub(crate) end: End,
}

/// How a call must end.
#[derive(Debug)]
pub(crate) enum End {
    /// With this text.
    Answer(&'static str),
    /// With this fault of the call itself.
    Failure(Fault),
}

/// All of them, in order.
pub(crate) const SCENES: [Scene; 6] = [
    Scene {
        name: "plain",
        story: "a plain call",
        prompt: "Why is the sky blue?",
        attempts: &[("north", None)],
        stalls_at: None,
        end: End::Answer("Air scatters blue light the most."),
    },
    Scene {
        name: "limited",
        story: "north limits our rate (429, Retry-After: 1); it cools down, south serves meanwhile",
        prompt: "How many days has a leap year?",
        attempts: &[("north", Some(Fault::RateLimit)), ("south", None)],
        stalls_at: None,
        end: End::Answer("A leap year has 366 days."),
    },
    Scene {
        name: "cut",
        story: "north's stream breaks off after four words; they are thrown away, south answers",
        prompt: "Name three rivers.",
        attempts: &[("north", Some(Fault::Truncated)), ("south", None)],
        stalls_at: None,
        end: End::Answer("Rhine, Elbe and Danube."),
    },
    Scene {
        name: "stalled",
        story: "north falls silent in mid-stream; the watchdog ends the wait, south answers",
        prompt: "How many continents are there?",
        attempts: &[("north", Some(Fault::Timeout)), ("south", None)],
        stalls_at: Some("north"),
        end: End::Answer("There are seven continents."),
    },
    Scene {
        name: "dead",
        story: "north refuses the key, south's account is empty; both are left at once",
        prompt: "When does water boil?",
        attempts: &[
            ("north", Some(Fault::InvalidKey)),
            ("south", Some(Fault::Quota)),
            ("west", None),
        ],
        stalls_at: None,
        end: End::Answer("Water boils at 100 degrees."),
    },
    Scene {
        name: "refused",
        story: "the prompt is too long; nobody else is asked, for nobody could answer",
        prompt: "(imagine 9001 tokens here)",
        attempts: &[("north", Some(Fault::ContextLength))],
        stalls_at: None,
        end: End::Failure(Fault::ContextLength),
    },
];
