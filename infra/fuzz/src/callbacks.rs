//! Callbacks of voice providers: the parser keeps within the limits of what is stored, and only a signature of the
//! provider is valid.

use std::sync::LazyLock;

use rolecall_local::demo;
use shared::clock::Timestamp;
use shared::config::{Config, Edge, Services, VapiAccess};
use shared::model::{Excerpt, Report, VoiceProvider};
use shared::providers::Providers;
use shared::providers::voice::{CallEvent, VoicePort, sign};
use shared::secret::Secret;
use shared::services::screening::Reference;

use crate::input::text;

const NOW: i64 = 1_795_167_000;
/// The length of the timestamp at the start of the input.
const TIMESTAMP: usize = 12;

static PROVIDERS: LazyLock<Providers> = LazyLock::new(|| {
    let vapi = VapiAccess {
        api_key: None,
        phone_number_id: "1".to_owned(),
        webhook_secret: Some(Secret::new("a secret of Vapi's webhook")),
        credential_id: None,
    };
    Providers::new(&Config {
        table: "rolecall".to_owned(),
        base_url: None,
        client_address_header: None,
        edge: Edge::default(),
        dynamodb_endpoint: None,
        signing_keys: demo::signing_keys().expect("keys"),
        credential_keys: demo::credential_keys().expect("keys"),
        settling: Config::SETTLING,
        services: Services { vapi: Some(vapi), ..Services::default() },
    })
});

/// The input is the body of a callback. Its first bytes are also a timestamp.
pub fn callbacks(input: &[u8]) {
    let timestamp = text(&input[..input.len().min(TIMESTAMP)]);
    let mut read = Vec::new();
    for provider in VoiceProvider::ALL {
        let voice = PROVIDERS.voice_provider(provider).expect("a provider");
        let signature = sign(&voice.webhook_secrets()[0], NOW, input);
        let sent = NOW.to_string();
        assert!(verify(&*voice, &sent, &signature, input));
        assert_eq!(verify(&*voice, &timestamp, &signature, input), timestamp == sent);
        assert!(!verify(&*voice, &sent, &text(input), input));
        assert!(!verify(&*voice, &sent, &signature, &[input, b" "].concat()));
        read.push(voice.read_callback(input));
    }
    assert_eq!(read[0], read[1]);
    let Some(callback) = read.pop().flatten() else { return };
    assert!(!callback.reference.trim().is_empty());
    assert!(callback.call_id.is_none_or(|id| !id.trim().is_empty()));
    if let Ok(reference) = callback.reference.parse::<Reference>() {
        assert_eq!(reference.to_string(), callback.reference);
    }
    if let CallEvent::Ended(report) = callback.event {
        assert_within_limits(&report);
    }
}

fn verify(voice: &dyn VoicePort, timestamp: &str, signature: &str, body: &[u8]) -> bool {
    let now = Timestamp::from_second(NOW).unwrap();
    let header = |name: &str| match name {
        "x-signature" => Some(signature),
        "x-timestamp" => Some(timestamp),
        _ => None,
    };
    voice.verify(&header, body, now)
}

fn assert_within_limits(report: &Report) {
    let is_clean = |text: &str, max: usize| {
        let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        !text.is_empty() && text.trim() == text && text.chars().count() <= max && !text.contains(is_control)
    };
    let turns = &report.transcript;
    assert!(turns.len() <= 10_000);
    assert!(turns.iter().all(|turn| is_clean(&turn.text, usize::MAX) && turn.at_seconds <= 86_400));
    if let Some(analysis) = &report.analysis {
        let scores = &analysis.scores;
        let scores = [scores.overall, scores.communication, scores.experience, scores.motivation];
        assert!(scores.into_iter().flatten().all(|score| score <= 100));
        assert!(analysis.summary.as_ref().is_none_or(|summary| is_clean(summary, 4_000)));
        let exists = |turn: u32| usize::try_from(turn).is_ok_and(|turn| turn < turns.len());
        for excerpts in [&analysis.highlights, &analysis.red_flags] {
            let is_valid =
                |excerpt: &Excerpt| is_clean(&excerpt.text, 500) && excerpt.turn.is_none_or(exists);
            assert!(excerpts.len() <= 50 && excerpts.iter().all(is_valid));
        }
    }
    let stored = serde_json::to_string(report).unwrap();
    assert_eq!(&serde_json::from_str::<Report>(&stored).unwrap(), report);
}
