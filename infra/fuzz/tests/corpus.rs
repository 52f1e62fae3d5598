//! Runs every target with its committed corpus and with random changes of it.

#![allow(clippy::unwrap_used, reason = "a panic in a test is a failure")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fastrand::Rng;
use fuzz::{TARGETS, Target};

/// The maximum number of changes between an input of the corpus and a random input.
const MAX_CHANGES: usize = 4;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort_unstable();
    names
}

/// The committed inputs of a target, in the order of their names.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let files = names(&folder("corpus").join(target.name));
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn run(target: &Target, input: &[u8]) {
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    assert!(result.is_ok(), "{} fails with b\"{}\"", target.name, input.escape_ascii());
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
    let stems = |files: Vec<PathBuf>| -> BTreeSet<String> {
        files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let targets = BTreeSet::from(TARGETS.map(|target| target.name.to_owned()));
    assert_eq!(stems(names(&folder("targets"))), targets);
    assert_eq!(stems(names(&folder("corpus"))), targets);
    let sizes = TARGETS.map(|target| {
        let corpus = corpus(&target);
        assert!(!corpus.is_empty(), "{}", target.name);
        corpus.iter().map(Vec::len).sum::<usize>()
    });
    assert!(sizes.iter().sum::<usize>() < 300_000, "{sizes:?}");
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
