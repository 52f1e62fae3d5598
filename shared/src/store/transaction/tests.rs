use super::*;

/// The error for actions with these guards, of which each failed for a reason.
fn error_of(failed: &[(Guard, &str)]) -> String {
    let guards: Vec<_> = failed.iter().map(|(guard, _)| *guard).collect();
    let reason = |(_, code): &(Guard, &str)| CancellationReason::builder().code(*code).build();
    format!("{:?}", commit_error(&guards, failed.iter().map(reason).collect()))
}

#[test]
fn an_entry_gets_another_identifier_if_nothing_else_failed() {
    let entries = |codes: [&str; 3]| {
        let reasons = codes.map(|code| CancellationReason::builder().code(code).build());
        only_entries_exist(&[Guard::Unchanged, Guard::AuditEntry, Guard::AuditEntry], &reasons)
    };
    assert!(entries(["None", "ConditionalCheckFailed", "None"]));
    assert!(entries(["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]));
    assert!(!entries(["None", "None", "None"]));
    assert!(!entries(["ConditionalCheckFailed", "ConditionalCheckFailed", "None"]));
    assert!(!entries(["None", "ConditionalCheckFailed", "TransactionConflict"]));
}

#[test]
fn only_an_action_with_changes_keeps_the_time_of_the_transaction() {
    let tenant = Tenant { organization: Id::new(1).expect("an id"), mode: crate::model::Mode::Live };
    let mut transaction = Transaction::new(tenant);
    transaction.delete(keys::gate(tenant));
    transaction.record(None);
    assert!(transaction.stamped.is_empty());
}

#[test]
fn only_a_later_stamp_is_why_a_transaction_was_too_early() {
    let values = |version: Option<u64>| {
        let version = version.map(|version| (":version", number(version)));
        [(":stamp", number(5))].into_iter().chain(version).collect::<Vec<_>>()
    };
    let stored = |stamp: i64, version: u64| {
        Item::from([(STAMP.to_owned(), number(stamp)), (VERSION.to_owned(), number(version))])
    };
    for (version, stored, expected) in [
        (None, stored(5, 1), Some(5)),
        (None, stored(9, 1), Some(9)),
        (None, stored(4, 1), None),
        (Some(1), stored(5, 1), Some(5)),
        (Some(2), stored(5, 1), None),
        (Some(2), stored(4, 1), None),
    ] {
        assert_eq!(later_stamp(&values(version), &stored), expected, "{version:?} {stored:?}");
    }
}

#[test]
fn the_error_of_a_cancelled_transaction_is_the_most_important_reason() {
    const FAILED: &str = "ConditionalCheckFailed";
    const CONFLICT: &str = "TransactionConflict";
    let email = Guard::Claim(UniqueField::Email);
    let slug = Guard::Slug { number: 3 };
    for (failed, expected) in [
        (&[(Guard::Unchanged, FAILED), (email, "None")][..], "Stale"),
        (&[(Guard::Unchanged, CONFLICT)], "Stale"),
        (&[(Guard::Role, CONFLICT)], "Stale"),
        (&[(Guard::AuditEntry, CONFLICT)], "Stale"),
        (&[(email, CONFLICT)], "Stale"),
        (&[(email, CONFLICT), (Guard::Role, FAILED)], "RoleChanged"),
        (&[(Guard::Role, FAILED), (Guard::Unchanged, FAILED)], "Stale"),
        (&[(email, FAILED), (Guard::Unchanged, FAILED)], "Stale"),
        (&[(email, FAILED), (Guard::Role, FAILED)], "RoleChanged"),
        (&[(email, FAILED)], "Taken([Taken { field: Email, owner: None }])"),
        (&[(Guard::Unchanged, FAILED), (slug, FAILED)], "SlugTaken { last: 3 }"),
        (&[(Guard::Receipt, CONFLICT), (slug, FAILED)], "InFlight"),
        (&[(Guard::Unchanged, "ThrottlingError")], "Store(Unavailable(\"ThrottlingError\"))"),
        (
            &[(Guard::Receipt, CONFLICT), (email, "ThrottlingError")],
            "Store(Unavailable(\"ThrottlingError\"))",
        ),
        (
            &[(slug, FAILED), (Guard::Unchanged, "ProvisionedThroughputExceeded")],
            "Store(Unavailable(\"ProvisionedThroughputExceeded\"))",
        ),
        (
            &[(email, FAILED), (Guard::Unchanged, "ValidationError")],
            "Store(Internal(\"DynamoDB rejected a transaction: ValidationError: \"))",
        ),
    ] {
        assert_eq!(error_of(failed), expected, "{failed:?}");
    }
}

/// Transactions of two people who apply for a role: each inserts an item of its own and adds to the counters of the role.
#[test]
fn transactions_that_share_only_counters_are_one() {
    let id = |number| Id::new(number).expect("an id");
    let tenant = Tenant { organization: id(1), mode: crate::model::Mode::Live };
    let of = |person: u64, is_closed: bool| {
        let mut transaction = Transaction::new(tenant);
        transaction.add(keys::role_stats(tenant, id(9)), vec![("applicants".to_owned(), 1)]);
        transaction.require_of_role(id(9), RoleCondition::Closed(is_closed));
        transaction.insert(keys::note(tenant, id(person), id(7)).attributes());
        transaction.stamped.insert(1);
        transaction
    };
    let mut all = of(2, false);
    all.join(of(3, false)).expect("they share only counters");
    assert_eq!((all.len(), all.stamped.clone()), (3, BTreeSet::from([1, 2])));
    let sums = all.actions.iter().find_map(|action| match &action.effect {
        Effect::Add(_, sums) => Some(sums.clone()),
        _ => None,
    });
    assert_eq!(sums, Some(vec![("applicants".to_owned(), 2)]));
    // The role cannot be closed and open, and nobody is written twice.
    for other in [of(4, true), of(3, false)] {
        all.join(other).expect_err("they cannot be made at once");
        assert_eq!(all.len(), 3);
    }
    for person in 5..=101 {
        all.join(of(person, false)).expect("there is room");
    }
    assert_eq!(all.sent(), MAX_ACTIONS);
    all.join(of(102, false)).expect_err("there is no more room");
}
