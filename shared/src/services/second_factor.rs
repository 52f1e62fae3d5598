//! The encryption of the secrets of second factors.

use crate::id::Id;
use crate::model::{Member, SecondFactor, TotpSecret};
use crate::random::Random;
use crate::secret::Secret;
use crate::token_encryption::{DecryptionError, EncryptedToken, EncryptionKeys};

/// Encrypts the secret of a member's authenticator app.
pub fn encrypt(
    keys: &EncryptionKeys,
    organization: Id,
    member: Id,
    secret: &TotpSecret,
    random: &Random,
) -> Result<EncryptedToken, DecryptionError> {
    keys.encrypt(&Secret::new(secret.base32()), &context(organization, member), random.bytes())
}

/// Decrypts the secret of a member's authenticator app.
pub fn decrypt(
    keys: &EncryptionKeys,
    organization: Id,
    member: Id,
    secret: &EncryptedToken,
) -> Result<TotpSecret, DecryptionError> {
    let secret = keys.decrypt(secret, &context(organization, member))?;
    TotpSecret::parse(secret.expose()).ok_or(DecryptionError::Broken)
}

/// The member with the secret of the second factor encrypted with the newest key; `None` if there is none or it already is.
pub fn reseal(
    keys: &EncryptionKeys,
    organization: Id,
    member: &Member,
    random: &Random,
) -> Result<Option<Member>, DecryptionError> {
    let Some(factor) = &member.second_factor else { return Ok(None) };
    let secret = keys.reencrypt(&factor.secret, &context(organization, member.id), random.bytes())?;
    Ok(secret
        .map(|secret| member.clone().with_second_factor(Some(SecondFactor { secret, ..factor.clone() }))))
}

/// The context that a ciphertext is bound to.
fn context(organization: Id, member: Id) -> String {
    format!("{organization} member {member} totp")
}
