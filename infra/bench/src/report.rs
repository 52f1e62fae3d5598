//! The limits, and the table.

use std::time::Duration;

use crate::function::{Function, Kind, Measured};

/// How much more than the floor a function may need, and how much longer than a warm call the first one may take. Ratios,
/// for times differ from machine to machine; sizes in bytes.
struct Limits {
    size: u64,
    start: f64,
    faults: f64,
    memory: f64,
    first: f64,
}

/// What the `docs` function shows: the viewer's files, and the OpenAPI document.
const DOCS_ASSETS: u64 = 4_310_000 + 360_000;

const FIRST: &str = "first call, against a warm one";

impl Limits {
    /// The limits of functions as they are deployed.
    fn deployed(function: &Function) -> Option<Self> {
        let (size, start) = match function.kind {
            Kind::Floor => return None,
            Kind::Static if function.name == "docs" => (2_500_000 + DOCS_ASSETS, 1.3),
            Kind::Static => (2_500_000, 1.3),
            Kind::Database => (6_000_000, 2.0),
            Kind::Wide => (9_000_000, 2.0),
        };
        let limits = Self { size, start, faults: 2.5, memory: 2.5, first: 1.5 };
        Some(match function.name {
            // The tables of HTML's entities are 300 KB of pointers, which the loader writes anew at every start, because the
            // kernel chooses the address: 75 pages, of which each costs a fault. At a fixed address it starts in 1.8 times
            // the floor's time; but then an attacker would know where its code is.
            "careers" => Self { start: 2.8, faults: 3.2, ..limits },
            // Its warm call is one short query, so that the page faults of the first one are as long as the call.
            "tasks" => Self { first: 2.2, ..limits },
            // The first call over TLS needs code that nothing has used before.
            "roles_tls" => Self { first: 2.0, ..limits },
            _ => limits,
        })
    }

    /// The limits of three functions that were linked without optimization, a little above what was measured: so a change
    /// that makes functions larger or slower is noticed without the quarter of an hour that the linker needs otherwise.
    fn quick(function: &Function) -> Option<Self> {
        match function.name {
            "default" => Some(Self { size: 2_600_000, start: 1.3, faults: 1.4, memory: 1.4, first: 1.5 }),
            "roles" => Some(Self { size: 6_800_000, start: 2.9, faults: 2.6, memory: 2.4, first: 2.5 }),
            "dashboard" => Some(Self { size: 8_600_000, start: 3.2, faults: 2.8, memory: 2.9, first: 2.5 }),
            _ => None,
        }
    }
}

/// Prints what was measured, the floor and the floor over TLS first; tells what has passed its limit.
pub(crate) fn print(rows: &[(&Function, Measured)], deployed: bool) -> Vec<String> {
    let [(_, floor), (_, floor_tls), ..] = rows else { return Vec::new() };
    println!(
        "| function | binary MB | start CPU ms | x floor | page faults | x | peak MB | x | first call ms | warm ms | x warm | warm CPU ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut passed = Vec::new();
    for (function, one) in rows {
        // A handshake costs the floor as much.
        let spared = if function.is_over_tls() { floor_tls } else { floor };
        let start = ratio((one.start + floor.start).saturating_sub(spared.start), floor.start);
        let faults =
            as_float((one.faults + floor.faults).saturating_sub(spared.faults)) / as_float(floor.faults);
        let memory =
            as_float((one.memory + floor.memory).saturating_sub(spared.memory)) / as_float(floor.memory);
        let first = ratio(one.first, one.warm);
        println!(
            "| {} | {:.2} | {:.2} | {start:.2} | {} | {faults:.2} | {:.2} | {memory:.2} | {:.2} | {:.2} | {first:.2} | {:.2} |",
            function.name,
            as_float(one.size) / 1e6,
            milliseconds(one.start),
            one.faults,
            as_float(one.memory) / 1e3,
            milliseconds(one.first),
            milliseconds(one.warm),
            milliseconds(one.warm_cpu),
        );
        let limits = if deployed { Limits::deployed(function) } else { Limits::quick(function) };
        let Some(limits) = limits else { continue };
        let name = function.name;
        for (figure, is, limit) in [
            ("CPU before the first event, against the floor", start, limits.start),
            ("page faults, against the floor", faults, limits.faults),
            ("peak memory, against the floor", memory, limits.memory),
            (FIRST, first, limits.first),
            ("binary in MB", as_float(one.size) / 1e6, as_float(limits.size) / 1e6),
        ] {
            // A call that asks no database has nothing to wait for but itself.
            let counts = function.asks_database() || figure != FIRST;
            if is > limit && counts {
                passed.push(format!("{name}: {figure}: {is:.2}, and the limit is {limit:.2}"));
            }
        }
    }
    passed
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn as_float(figure: u64) -> f64 {
    figure as f64
}
