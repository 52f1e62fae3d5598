//! The X simulator, for test keys and the local service. It publishes nothing, and its metrics grow like those of real
//! posts.

use sha2::{Digest, Sha256};

use super::x::XError;
use crate::clock::Timestamp;
use crate::model::{Metrics, Post};

/// The username of the simulated account, which is always connected.
pub const ACCOUNT: &str = "rolecall_simulator";

/// Bits above those of our own ids, so that a simulated X id is never the same as one of ours.
const ABOVE_OUR_IDS: u64 = 0x1A << 56;

/// The time until a post has half of its final likes, in seconds.
const HALF_GROWN: u64 = 4 * 60 * 60;

/// Publishes our post and returns its simulated X id, which consists of digits and is different for each `id`. Like X,
/// the simulator rejects a text that is in the account's history.
pub fn post(id: u64, text: &str, history: &[Post]) -> Result<String, XError> {
    let is_repeated = history.iter().any(|post| post.external_id.is_some() && post.text == text);
    if is_repeated { Err(XError::Duplicate) } else { Ok(external_id(id)) }
}

fn external_id(id: u64) -> String {
    (id ^ ABOVE_OUR_IDS).to_string()
}

/// The URL of a simulated post, on a domain that never exists.
pub fn post_url(external_id: &str) -> String {
    format!("https://x.example/{ACCOUNT}/status/{external_id}")
}

/// The metrics of our post at `now`. They start at zero, grow mostly within the first day, and never fall.
pub fn metrics(id: u64, posted_at: Timestamp, now: Timestamp) -> Metrics {
    let age = now.as_second().saturating_sub(posted_at.as_second());
    let age = u64::try_from(age).unwrap_or(0);
    let seed: [u8; 32] = Sha256::digest(id.to_be_bytes()).into();
    let [likes, reposts, replies, clicks, ..] = seed.map(u64::from);
    let likes = 12 + likes;
    let so_far = |total: u64| Some(total * age / (age + HALF_GROWN));
    Metrics {
        likes: so_far(likes),
        reposts: so_far(likes * (16 + reposts / 4) / 256),
        replies: so_far(likes * (8 + replies / 8) / 256),
        link_clicks: so_far(likes * (128 + clicks) / 128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;
    use proptest::prelude::*;

    const POSTED: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn any_time() -> impl Strategy<Value = Timestamp> {
        (Timestamp::MIN.as_second()..=Timestamp::MAX.as_second())
            .prop_map(|second| Timestamp::from_second(second).unwrap())
    }

    fn after(hours: i64) -> Timestamp {
        POSTED + SignedDuration::from_hours(hours)
    }

    proptest! {
        #[test]
        fn metrics_never_fall_and_reposts_never_exceed_likes(id: u64, posted in any_time(), a in any_time(), b in any_time()) {
            let [before, later] = [a.min(b), a.max(b)].map(|now| metrics(id, posted, now));
            prop_assert_eq!(before, metrics(id, posted, a.min(b)));
            prop_assert!(before.likes <= later.likes && before.reposts <= later.reposts);
            prop_assert!(before.replies <= later.replies && before.link_clicks <= later.link_clicks);
            prop_assert!(later.reposts <= later.likes && later.replies <= later.likes);
        }

        #[test]
        fn metrics_are_zero_before_the_post(id: u64, posted in any_time(), now in any_time()) {
            if now <= posted {
                let none = Some(0);
                prop_assert_eq!(
                    metrics(id, posted, now),
                    Metrics { likes: none, reposts: none, replies: none, link_clicks: none }
                );
            }
        }

        #[test]
        fn every_post_has_a_different_id(a: u64, b: u64) {
            let [one, other] = [a, b].map(|id| post(id, "text", &[]).unwrap());
            prop_assert!((1..=20).contains(&one.len()) && one.bytes().all(|byte| byte.is_ascii_digit()));
            prop_assert_eq!(one == other, a == b);
        }

        #[test]
        fn likes_grow_fast_first_and_slowly_later(id: u64) {
            let likes = |hours| metrics(id, POSTED, after(hours)).likes.unwrap();
            let (first_day, second_week) = (likes(24), likes(14 * 24) - likes(7 * 24));
            prop_assert!(likes(4) >= 5 && first_day > likes(4));
            prop_assert!(second_week * 20 <= first_day, "{first_day} {second_week}");
        }
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let longest = metrics(1, Timestamp::MIN, Timestamp::MAX);
        assert!(longest.likes >= Some(11), "{longest:?}");
        assert_eq!(metrics(1, Timestamp::MAX, Timestamp::MIN).likes, Some(0));
    }

    #[test]
    fn posts_differ_and_their_urls_are_on_a_reserved_domain() {
        assert_ne!(metrics(1, POSTED, after(24)), metrics(2, POSTED, after(24)));
        assert_eq!(
            post_url(&external_id(17)),
            "https://x.example/rolecall_simulator/status/1873497444986126353"
        );
    }
}
