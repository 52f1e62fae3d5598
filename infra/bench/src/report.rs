//! The limits and the table of results.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::function::{Function, Kind, Measured};

/// The limits of a function: the size of its binary in bytes, and ratios, because times differ between machines. Start,
/// page faults and memory are relative to the floor, and the first call is relative to a warm call.
struct Limits {
    size: u64,
    start: f64,
    faults: f64,
    memory: f64,
    first: f64,
}

/// The size of the files that the `docs` function contains: the pages of the API reference and the OpenAPI document.
const DOCS_ASSETS: u64 = 1_500_000 + 700_000;

const FIRST: &str = "first call, relative to a warm call";

impl Limits {
    /// The limits of a function as it is deployed: optimized, also by the linker. The floors have none.
    fn of(function: &Function) -> Option<Self> {
        let (size, start) = match function.kind {
            Kind::Floor => return None,
            Kind::Static if function.name == "docs" => (2_500_000 + DOCS_ASSETS, 1.3),
            Kind::Static => (2_500_000, 1.3),
            Kind::Database => (6_200_000, 2.0),
            Kind::Wide => (9_200_000, 2.0),
            Kind::Passkeys => (6_500_000, 2.0),
        };
        // The first call opens the connections: a second one, too, where a read goes beside the gate. The first request of a
        // credential in an instance also makes one call more than later ones, which reads the details of its holder. A warm
        // call waits for one read alone, so the ratio is larger than where two calls follow each other, and both times are
        // smaller.
        let first = if function.checks_credential() { 2.9 } else { 2.0 };
        let limits = Self { size, start, faults: 2.6, memory: 2.5, first };
        Some(match function.binary() {
            // These have the handlers of most routes. Linux maps the pages around each one that is used, so nearly all of
            // their code counts as memory. Of 8.2 MB, `mcp` has 4.3 of code (of 4.9 in its binary), 1.3 of constants and
            // tables for the loader (of 2.6), 0.4 of heap, 0.3 of relocated pointers and stack, and 1.9 of libraries. The
            // floor has 0.7, 0.4, 0.1, 0.1 and 1.9.
            "candidates" | "dashboard_settings" | "mcp" | "tasks" => Self { memory: 2.9, ..limits },
            // Its pages do what most handlers do: the list, a person, and the acts on several.
            "dashboard_candidates" => Self { size: 10_000_000, memory: 3.3, ..limits },
            // Markdown has a table of HTML entities with 70 KB of pointers, which the loader relocates at every start. Most
            // runs measure 1.8 to 2.0.
            "careers" => Self { start: 2.2, memory: 2.8, ..limits },
            "dashboard_roles" => Self { start: 2.2, memory: 2.9, ..limits },
            // The warm call is one or a few short queries, so the page faults of the first call count more.
            "deliver" => Self { first: 4.2, ..limits },
            "sign_in" => Self { first: 3.0, ..limits },
            _ => limits,
        })
    }
}

/// A limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Excess {
    pub(crate) function: &'static str,
    pub(crate) metric: &'static str,
}

/// Prints the table and what exceeded its limit. The first two rows must be the floor and the floor over TLS.
pub(crate) fn print(rows: &[(&Function, Measured)]) -> BTreeSet<Excess> {
    let [(_, floor), (_, floor_tls), ..] = rows else { return BTreeSet::new() };
    println!(
        "| function | binary MB | start CPU ms | x floor | page faults | x | peak MB | x | first call ms | warm ms | x warm | warm CPU ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut exceeded = BTreeMap::new();
    for (function, measured) in rows {
        // A TLS handshake costs the floor just as much, so its cost is subtracted.
        let base = if function.is_over_tls() { floor_tls } else { floor };
        let start = ratio((measured.start + floor.start).saturating_sub(base.start), floor.start);
        let faults =
            as_float((measured.faults + floor.faults).saturating_sub(base.faults)) / as_float(floor.faults);
        let memory =
            as_float((measured.memory + floor.memory).saturating_sub(base.memory)) / as_float(floor.memory);
        let first = ratio(measured.first, measured.warm);
        println!(
            "| {} | {:.2} | {:.2} | {start:.2} | {} | {faults:.2} | {:.2} | {memory:.2} | {:.2} | {:.2} | {first:.2} | {:.2} |",
            function.name,
            as_float(measured.size) / 1e6,
            milliseconds(measured.start),
            measured.faults,
            as_float(measured.memory) / 1e3,
            milliseconds(measured.first),
            milliseconds(measured.warm),
            milliseconds(measured.warm_cpu),
        );
        let Some(limits) = Limits::of(function) else { continue };
        let name = function.name;
        for (metric, value, limit) in [
            ("CPU time before the first event, relative to the floor", start, limits.start),
            ("page faults, relative to the floor", faults, limits.faults),
            ("peak memory, relative to the floor", memory, limits.memory),
            (FIRST, first, limits.first),
            ("binary size in MB", as_float(measured.size) / 1e6, as_float(limits.size) / 1e6),
        ] {
            // A warm call without the database is too short for a comparison.
            let applies = function.uses_database() || metric != FIRST;
            if value > limit && applies {
                exceeded.insert(Excess { function: name, metric }, (value, limit));
            }
        }
    }
    for (Excess { function, metric }, (value, limit)) in &exceeded {
        println!("{function}: {metric}: {value:.2}, limit {limit:.2}");
    }
    exceeded.into_keys().collect()
}

fn ratio(numerator: Duration, denominator: Duration) -> f64 {
    numerator.as_secs_f64() / denominator.as_secs_f64()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "for display and ratios")]
fn as_float(number: u64) -> f64 {
    number as f64
}
