//! The `reseal` command: interruptions, concurrent changes and missing keys.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::tests::interceptor::Fault;
use ::tests::{ACME, GLOBEX, TestApi, dashboard, tenant};
use shared::model::{Mode, SecondFactor, TotpSecret};
use shared::providers::x::Tokens;
use shared::secret::Secret;
use shared::services::{accounts, second_factor};
use shared::store::Transaction;
use shared::token_encryption::{EncryptedToken, EncryptionKeys};

use super::TestAdmin;

const OLD: &str = "1:the-old-key-with-32-characters-or-more";
const NEW: &str = "2:the-new-key-with-32-characters-or-more";

fn keys(text: &str) -> EncryptionKeys {
    EncryptionKeys::parse(text).unwrap()
}

fn tokens(access: &str) -> Tokens {
    let expires_at = "2026-11-20T11:30:00Z".parse().unwrap();
    Tokens { access: Secret::new(access), refresh: Secret::new("refresh"), expires_at }
}

/// Encrypts two accounts and a second factor of an organization with the old key.
async fn populate(api: &TestApi, demo: usize) {
    let (tenant, old, random) = (tenant(demo, Mode::Live), keys(OLD), &api.environment.random);
    let mut transaction = Transaction::new(tenant);
    let x = accounts::connect_x(tenant, "acme".to_owned(), &tokens("access"), &old, random).unwrap();
    transaction.put_x_connection(&x).unwrap();
    let token = Secret::new("whatsapp");
    let number = accounts::connect_whatsapp(tenant, "1".to_owned(), &token, &old, random).unwrap();
    transaction.put_whatsapp_connection(&number).unwrap();
    api.store().commit(transaction).await.unwrap();
    let owner = dashboard::owner(api, demo).await;
    let totp = TotpSecret::parse("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP").unwrap();
    let secret = second_factor::encrypt(&old, tenant.organization, owner.id, &totp, random).unwrap();
    let (factor, _) = SecondFactor::set_up(secret, 1, random, api.environment.clock.now());
    let mut transaction = Transaction::new(tenant);
    transaction.replace_member(&owner, &owner.clone().with_second_factor(Some(factor))).unwrap();
    api.store().commit(transaction).await.unwrap();
}

/// The ids of the keys that encrypted an organization's secrets, and the secrets, decrypted with `keys`.
async fn secrets(api: &TestApi, demo: usize, keys: &EncryptionKeys) -> (Vec<String>, Vec<String>) {
    let tenant = tenant(demo, Mode::Live);
    let x = api.store().find_x_connection(tenant).await.unwrap().unwrap();
    let number = api.store().find_whatsapp_connection(tenant).await.unwrap().unwrap();
    let owner = dashboard::owner(api, demo).await;
    let factor = owner.second_factor.unwrap();
    let decrypt = |token: &EncryptedToken, name: &str| {
        keys.decrypt(token, &format!("{tenant} {name}")).unwrap().expose().to_owned()
    };
    let totp = second_factor::decrypt(keys, tenant.organization, owner.id, &factor.secret).unwrap();
    let plain = vec![
        decrypt(&x.access, "x access"),
        decrypt(&x.refresh, "x refresh"),
        decrypt(&number.token, "whatsapp"),
        totp.base32(),
    ];
    (vec![x.access.key, x.refresh.key, number.token.key, factor.secret.key], plain)
}

fn expected(access: &str) -> Vec<String> {
    [access, "refresh", "whatsapp", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"].map(str::to_owned).to_vec()
}

#[tokio::test]
async fn secrets_are_encrypted_again_by_runs_that_are_interrupted() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api).with_secret("SEALING_KEYS", &format!("{NEW},{OLD}"));
    for demo in [ACME, GLOBEX] {
        populate(&api, demo).await;
    }
    let both = keys(&format!("{NEW},{OLD}"));
    let command = "reseal";
    let before = api.stored_items().await;
    let preview = admin.output(&format!("{command} --preview")).await;
    assert_eq!(
        preview,
        "Secrets that would be encrypted again: 6. Already encrypted with the newest key: 0.\n"
    );
    assert!(api.stored_items().await == before, "a preview writes nothing");

    // Every run fails after its first write.
    let mut runs = 0;
    let last = loop {
        let writes = Arc::new(AtomicUsize::new(0));
        api.dynamodb.inject_faults(move |operation, _| {
            let is_write = operation == "TransactWriteItems";
            (is_write && writes.fetch_add(1, Ordering::Relaxed) > 0).then_some(Fault::Conflict)
        });
        runs += 1;
        match admin.run(command).await {
            Ok(text) => break text,
            Err(sentence) => assert!(runs < 10, "{sentence}"),
        }
    };
    api.dynamodb.inject_faults(|_, _| None);
    assert_eq!(last, "Secrets encrypted again: 1. Already encrypted with the newest key: 5.\n");
    assert_eq!(runs, 6);
    for demo in [ACME, GLOBEX] {
        let (ids, plain) = secrets(&api, demo, &keys(NEW)).await;
        assert_eq!((ids, plain), (vec!["2".to_owned(); 4], expected("access")));
    }
    // Nothing else has changed: only these items, and the key's id, the ciphertext and the version in them.
    let after = api.stored_items().await;
    let changed: BTreeMap<_, _> = after.iter().filter(|(key, item)| before.get(*key) != Some(item)).collect();
    assert_eq!((changed.len(), before.len()), (6, after.len()));
    assert_eq!(admin.json(command).await["current"], 6);
    assert!(api.stored_items().await == after, "a repeated run writes nothing");
    assert_eq!(secrets(&api, ACME, &both).await.1, expected("access"));
}

#[tokio::test]
async fn a_change_during_a_run_is_not_lost() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api).with_secret("SEALING_KEYS", &format!("{NEW},{OLD}"));
    populate(&api, ACME).await;
    let (acme, old) = (tenant(ACME, Mode::Live), keys(OLD));
    // The functions renew the account's tokens between the command's read and its write.
    let (store, random) = (api.store().clone(), api.environment.random.clone());
    api.dynamodb.run_before("TransactWriteItems", async move {
        let before = store.find_x_connection(acme).await.unwrap().unwrap();
        let mut after =
            accounts::connect_x(acme, "acme".to_owned(), &tokens("renewed"), &old, &random).unwrap();
        after.version = before.version + 1;
        let mut transaction = Transaction::new(acme);
        transaction.replace_x_connection(&before, &after).unwrap();
        store.commit(transaction).await.unwrap();
    });
    admin.output("reseal").await;
    let (ids, plain) = secrets(&api, ACME, &keys(NEW)).await;
    assert_eq!((ids, plain), (vec!["2".to_owned(); 4], expected("renewed")));
}

#[tokio::test]
async fn secrets_without_a_key_are_named_and_all_others_are_encrypted_again() {
    let api = TestApi::new().await;
    let admin = TestAdmin::of(&api).with_secret("SEALING_KEYS", &format!("{NEW},{OLD}"));
    populate(&api, ACME).await;
    let (globex, random) = (tenant(GLOBEX, Mode::Live), &api.environment.random);
    let lost = keys("0:a-key-that-somebody-has-lost-long-ago");
    let x = accounts::connect_x(globex, "globex".to_owned(), &tokens("access"), &lost, random).unwrap();
    let mut transaction = Transaction::new(globex);
    transaction.put_x_connection(&x).unwrap();
    api.store().commit(transaction).await.unwrap();
    for run in ["the first run", "a repeated run"] {
        let sentence = admin.error("reseal").await;
        let expected = "None of the keys decrypts these secrets; all others are done: the X account of 2#live (the token \
                        was encrypted with a key that is not configured).";
        assert_eq!(sentence, expected, "{run}");
        assert_eq!(secrets(&api, ACME, &keys(NEW)).await.0, vec!["2".to_owned(); 4], "{run}");
    }
    let kept = api.store().find_x_connection(globex).await.unwrap().unwrap();
    assert_eq!((kept.access, kept.version), (x.access, x.version));
}
