//! Runs every target with its committed corpus and with random changes of it.

#![allow(clippy::unwrap_used, reason = "a panic in a test is a failure")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fastrand::Rng;
use fuzz::{TARGETS, Target};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

/// The maximum number of changes between an input of the corpus and a random input.
const MAX_CHANGES: usize = 4;

/// The ASCII characters that are encoded in a corpus. Bytes that are not ASCII are encoded, too.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort_unstable();
    names
}

/// The text of a target's corpus, with one percent-encoded input in each line.
fn text(target: &Target) -> String {
    let file = folder("corpus").join(target.name).with_extension("txt");
    fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display())).unwrap()
}

/// The committed inputs of a target, in the order of the lines.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    text(target).lines().map(|line| percent_decode_str(line).collect()).collect()
}

fn encoded(input: &[u8]) -> String {
    percent_encode(input, ENCODED).to_string()
}

fn run(target: &Target, input: &[u8]) {
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    assert!(result.is_ok(), "{} fails with {}", target.name, encoded(input));
}

#[test]
fn no_target_fails() {
    for target in TARGETS {
        let corpus = corpus(&target);
        for input in &corpus {
            run(&target, input);
        }
        let mut random = Rng::with_seed(7);
        for _ in 0..target.random_inputs {
            run(&target, &changed(&corpus, &mut random));
        }
    }
}

#[test]
fn every_target_has_a_binary_and_a_small_corpus() {
    for (name, extension) in [("targets", "rs"), ("corpus", "txt")] {
        let folder = folder(name);
        let expected = TARGETS.map(|target| folder.join(target.name).with_extension(extension));
        assert_eq!(names(&folder), expected);
    }
    let sizes = TARGETS.map(|target| {
        let corpus = corpus(&target);
        assert!(!corpus.is_empty(), "{}", target.name);
        corpus.iter().map(Vec::len).sum::<usize>()
    });
    assert!(sizes.iter().sum::<usize>() < 300_000, "{sizes:?}");
}

#[test]
fn every_corpus_is_sorted_and_encoded() {
    for target in TARGETS {
        let lines: BTreeSet<_> = corpus(&target).iter().map(|input| encoded(input)).collect();
        let correction = format!("python3 infra/fuzz/corpus.py add {}", target.name);
        assert!(text(&target).lines().eq(&lines), "`{correction}` sorts and encodes the corpus");
    }
}

/// An input of the corpus after a few changes.
fn changed(corpus: &[Vec<u8>], random: &mut Rng) -> Vec<u8> {
    let mut input = random.choice(corpus).cloned().unwrap_or_default();
    for _ in 0..random.usize(1..=MAX_CHANGES) {
        let at = random.usize(0..=input.len());
        let end = random.usize(at..=input.len().min(at + 32));
        match random.u8(0..6) {
            0 => drop(input.drain(at..end)),
            1 => input.insert(at, random.u8(..)),
            2 => input[at..end].iter_mut().for_each(|byte| *byte = random.u8(b' '..=b'~')),
            3 => {
                let copy = input[at..end].to_vec();
                input.splice(at..at, copy);
            }
            4 => {
                let bit = 1 << random.u8(0..8);
                input.get_mut(at).into_iter().for_each(|byte| *byte ^= bit);
            }
            _ => {
                let other = random.choice(corpus).cloned().unwrap_or_default();
                let from = random.usize(0..=other.len());
                let to = random.usize(from..=other.len().min(from + 64));
                input.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    input
}
