//! What a transcript shows about the candidate: whether a person spoke, refused, or said enough for a score.

use jiff::SignedDuration;

use super::folding::{Folded, Spelling};
use super::index_form::IndexForm;
use super::turn::{Speaker, Turn};

/// The number of the candidate's turns that a score needs.
const SCORED_TURNS: usize = 3;
/// The time that a score needs.
const SCORED_TIME: SignedDuration = SignedDuration::from_secs(30);

/// What the announcements of mailboxes and networks contain, by language.
const MAILBOX_PHRASES: [(&str, &[&str]); 8] = [
    (
        "English",
        &[
            "leave a message",
            "leave me a message",
            "leave your message",
            "leave your name and number",
            "leave your name and a message",
            "record your message",
            "after the tone",
            "at the tone",
            "after the beep",
            "voicemail",
            "voice mailbox",
            "mailbox is full",
            "person you are trying to reach",
            "person you are calling",
            "number you have dialed",
            "number you have dialled",
            "can't take your call",
            "cannot take your call",
            "unable to take your call",
            "can't come to the phone",
            "not available to take your call",
        ],
    ),
    (
        "German",
        &[
            "nach dem Signalton",
            "nach dem Piepton",
            "nach dem Ton",
            "hinterlassen Sie eine Nachricht",
            "hinterlassen Sie uns eine Nachricht",
            "hinterlassen Sie mir eine Nachricht",
            "hinterlass mir eine Nachricht",
            "Mailbox",
            "Anrufbeantworter",
            "der gewünschte Gesprächspartner",
            "die gewählte Rufnummer",
            "vorübergehend nicht erreichbar",
        ],
    ),
    (
        "French",
        &[
            "laissez un message",
            "laissez-moi un message",
            "laisser un message",
            "laissez votre message",
            "laisser votre message",
            "après le bip",
            "après le signal sonore",
            "messagerie vocale",
            "boîte vocale",
            "votre correspondant",
            "le numéro que vous avez composé",
        ],
    ),
    (
        "Spanish",
        &[
            "deje un mensaje",
            "deje su mensaje",
            "deja tu mensaje",
            "después de la señal",
            "después del tono",
            "buzón de voz",
            "el número que ha marcado",
            "la persona a la que llama",
        ],
    ),
    (
        "Italian",
        &[
            "lasciate un messaggio",
            "lasci un messaggio",
            "lasciare un messaggio",
            "dopo il segnale acustico",
            "dopo il bip",
            "segreteria telefonica",
            "il cliente da lei chiamato",
            "il numero selezionato",
        ],
    ),
    (
        "Dutch",
        &[
            "spreek een bericht in",
            "uw bericht inspreken",
            "laat een bericht achter",
            "na de toon",
            "na de piep",
            "voicemail",
            "het nummer dat u heeft gebeld",
        ],
    ),
    (
        "Portuguese",
        &[
            "deixe a sua mensagem",
            "deixe sua mensagem",
            "deixe uma mensagem",
            "após o sinal",
            "depois do sinal",
            "caixa postal",
            "correio de voz",
            "o número que marcou",
        ],
    ),
    (
        "Polish",
        &[
            "zostaw wiadomość",
            "proszę zostawić wiadomość",
            "po usłyszeniu sygnału",
            "po sygnale",
            "poczta głosowa",
            "abonent jest czasowo niedostępny",
        ],
    ),
];

/// The answers to the greeting that decline the conversation, by language.
const REFUSALS: [(&str, &[&str]); 8] = [
    (
        "English",
        &[
            "no",
            "nope",
            "no thanks",
            "no thank you",
            "no, please don't",
            "not interested",
            "I'm not interested",
            "no, I'm not interested",
            "I'd rather not",
            "no, I'd rather not",
            "I would rather not",
            "I don't want to",
            "no, I don't want to",
            "I don't want to talk to an AI",
            "no, I don't want to talk to an AI",
            "I don't want to be recorded",
            "no, I don't want to be recorded",
            "I don't want to be transcribed",
            "no, I don't want to be transcribed",
            "I decline",
            "stop",
            "don't call me again",
            "please don't call me again",
        ],
    ),
    (
        "German",
        &[
            "nein",
            "nein danke",
            "nein, vielen Dank",
            "kein Interesse",
            "ich habe kein Interesse",
            "nein, ich habe kein Interesse",
            "das möchte ich nicht",
            "nein, das möchte ich nicht",
            "ich möchte nicht",
            "nein, ich möchte nicht",
            "ich will nicht",
            "nein, ich will nicht",
            "lieber nicht",
            "rufen Sie mich nicht mehr an",
        ],
    ),
    (
        "French",
        &[
            "non",
            "non merci",
            "pas intéressé",
            "pas intéressée",
            "je ne suis pas intéressé",
            "je ne suis pas intéressée",
            "non, je ne suis pas intéressé",
            "non, je ne suis pas intéressée",
            "je ne veux pas",
            "non, je ne veux pas",
            "je préfère pas",
            "je ne préfère pas",
            "ne m'appelez plus",
        ],
    ),
    (
        "Spanish",
        &[
            "no gracias",
            "no me interesa",
            "no, no me interesa",
            "no quiero",
            "no, no quiero",
            "prefiero no",
            "no me llame más",
        ],
    ),
    (
        "Italian",
        &[
            "no grazie",
            "non mi interessa",
            "no, non mi interessa",
            "non sono interessato",
            "non sono interessata",
            "non voglio",
            "no, non voglio",
            "preferisco di no",
        ],
    ),
    (
        "Dutch",
        &[
            "nee",
            "nee bedankt",
            "nee dank u",
            "nee dank je",
            "geen interesse",
            "ik heb geen interesse",
            "nee, ik heb geen interesse",
            "dat wil ik niet",
            "nee, dat wil ik niet",
            "liever niet",
        ],
    ),
    (
        "Portuguese",
        &[
            "não",
            "não obrigado",
            "não obrigada",
            "não quero",
            "não, não quero",
            "não me interessa",
            "não tenho interesse",
            "prefiro não",
        ],
    ),
    (
        "Polish",
        &[
            "nie",
            "nie dziękuję",
            "nie jestem zainteresowany",
            "nie jestem zainteresowana",
            "nie chcę",
            "nie, nie chcę",
            "nie, dziękuję, nie jestem zainteresowany",
            "nie, dziękuję, nie jestem zainteresowana",
        ],
    ),
];

/// What a transcript shows about the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The number of the candidate's turns; 0 if a machine took the call.
    pub turns: usize,
    /// Whether a mailbox or an announcement took the call.
    pub is_machine: bool,
    /// Whether the candidate declined right after the greeting and said no more than one other thing.
    pub is_refusal: bool,
}

impl Evidence {
    /// The evidence in a transcript.
    pub fn of(transcript: &[Turn]) -> Self {
        let is_candidate = |turn: &&Turn| turn.speaker == Speaker::Candidate;
        let is_machine = transcript.iter().find(is_candidate).is_some_and(|turn| {
            let said = joined(&turn.text);
            all(&MAILBOX_PHRASES).any(|phrase| said.contains(&joined(phrase)))
        });
        let turns = if is_machine { 0 } else { transcript.iter().filter(is_candidate).count() };
        let answer = transcript.iter().skip_while(is_candidate).find(is_candidate);
        let is_refusal = (1..SCORED_TURNS).contains(&turns)
            && answer.is_some_and(|turn| {
                let said = joined(&turn.text);
                all(&REFUSALS).any(|phrase| said == joined(phrase))
            });
        Self { turns, is_machine, is_refusal }
    }

    /// Whether the candidate spoke.
    pub const fn has_candidate(self) -> bool {
        self.turns > 0
    }

    /// Whether there is enough to judge in a conversation of this length.
    pub fn allows_scores(self, duration: SignedDuration) -> bool {
        self.turns >= SCORED_TURNS && duration >= SCORED_TIME
    }
}

/// The phrases of all languages.
fn all(lists: &[(&str, &'static [&'static str])]) -> impl Iterator<Item = &'static str> {
    lists.iter().flat_map(|(_, phrases)| phrases.iter().copied())
}

/// The letters and digits of a text, folded.
fn joined(text: &str) -> String {
    // An announcement is recognized by its beginning, and a refusal is short.
    let beginning: String = text.chars().take(1_000).collect();
    Folded::of(&beginning, IndexForm::NEWEST, Spelling::Plain).joined()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn talk(turns: &[(Speaker, &str)]) -> Evidence {
        let turn = |(speaker, text): &(Speaker, &str)| Turn {
            speaker: *speaker,
            text: (*text).to_owned(),
            at_seconds: 0,
        };
        Evidence::of(&turns.iter().map(turn).collect::<Vec<_>>())
    }

    use Speaker::{Agent, Candidate};

    #[test]
    fn announcements_are_no_candidates() {
        for said in [
            "Your call has been forwarded to an automatic voice message system. At the tone, please record your message.",
            "Hi, you've reached Grace. I can’t come to the phone right now.",
            "HALLO, hier ist die Mailbox von 0151.",
            "Bitte hinterlassen Sie eine Nachricht nach dem Signalton.",
            "Bonjour, laissez-moi un message après le bip !",
            "Deje su mensaje después de la señal.",
            "Lasciate un messaggio dopo il segnale acustico",
            "Spreek een bericht in na de piep.",
            "Deixe a sua mensagem após o sinal.",
            "Zostaw wiadomość po sygnale",
        ] {
            let evidence = talk(&[(Agent, "Hi"), (Candidate, said), (Candidate, "Beep"), (Candidate, "x")]);
            assert_eq!(evidence, Evidence { turns: 0, is_machine: true, is_refusal: false }, "{said}");
        }
        for said in ["Hello?", "Yes, I got your message.", "Ja, hier ist Grace.", "", "Who is calling?"] {
            assert!(!talk(&[(Agent, "Hi"), (Candidate, said)]).is_machine, "{said}");
        }
        let later = talk(&[(Candidate, "Hello?"), (Agent, "Hi"), (Candidate, "Should I leave a message?")]);
        assert_eq!((later.turns, later.is_machine), (2, false), "only the first turn is an announcement");
    }

    #[test]
    fn only_a_short_answer_to_the_greeting_is_a_refusal() {
        for said in [
            "No.",
            "NO, thank you!",
            "Nein, danke.",
            "Non merci",
            "No gracias",
            "no—grazie",
            "Nee.",
            "Não",
            "Nie",
        ] {
            assert!(talk(&[(Agent, "Hi"), (Candidate, said)]).is_refusal, "{said}");
            let before = [(Candidate, "Hello?"), (Agent, "Hi"), (Candidate, said), (Agent, "Bye")];
            assert!(talk(&before).is_refusal, "{said}");
            let goes_on = [(Agent, "Hi"), (Candidate, said), (Candidate, "Well"), (Candidate, "Yes")];
            assert!(!talk(&goes_on).is_refusal, "{said}");
        }
        for said in ["No problem.", "Yes", "No, now is fine", "not now", "Norway", ""] {
            assert!(!talk(&[(Agent, "Hi"), (Candidate, said)]).is_refusal, "{said}");
        }
        assert!(!talk(&[(Candidate, "No.")]).is_refusal, "nobody has asked");
        assert!(!talk(&[(Agent, "Hi"), (Candidate, "Yes"), (Candidate, "No")]).is_refusal);
        assert!(!talk(&[]).is_refusal);
    }

    #[test]
    fn a_score_needs_three_turns_and_30_seconds() {
        let evidence = |turns: usize| talk(&vec![(Candidate, "Yes"); turns]);
        for (turns, seconds, allowed) in [(3, 30, true), (2, 30, false), (3, 29, false), (0, 600, false)] {
            assert_eq!(evidence(turns).allows_scores(SignedDuration::from_secs(seconds)), allowed);
        }
    }

    #[test]
    fn the_guide_has_all_phrases() {
        let guide = include_str!("../../../functions/README.md");
        for (language, phrases) in MAILBOX_PHRASES.iter().chain(&REFUSALS) {
            let row = format!("| {language} | {} |", phrases.join("; "));
            assert!(guide.contains(&row), "{row}");
        }
    }

    proptest! {
        #[test]
        fn no_transcript_panics(texts: Vec<(bool, String)>) {
            let turn = |(is_agent, text): (bool, String)| Turn {
                speaker: if is_agent { Agent } else { Candidate },
                text,
                at_seconds: 0,
            };
            let transcript: Vec<_> = texts.into_iter().map(turn).collect();
            let evidence = Evidence::of(&transcript);
            prop_assert!(!(evidence.is_refusal && evidence.is_machine));
        }
    }
}
